# SPDX-License-Identifier: BSD-3-Clause
"""Transformers: a small GPT-2 and a small Llama with random weights generate text, in half precision too."""
from app import check, median_time, needs

torch, transformers = needs("torch", "transformers")
torch.manual_seed(5)
models = {
    "gpt2": transformers.GPT2LMHeadModel(transformers.GPT2Config(
        n_embd=256, n_layer=4, n_head=8, vocab_size=1000)),
    "llama": transformers.LlamaForCausalLM(transformers.LlamaConfig(
        hidden_size=256, intermediate_size=512, num_hidden_layers=4, num_attention_heads=8, vocab_size=1000)),
}
prompt = torch.arange(10, 26).reshape(1, 16)
for name, model in models.items():
    model.generation_config.pad_token_id = 0
    model.eval()
    options = dict(max_new_tokens=24, do_sample=False, eos_token_id=None)
    expected = model.generate(prompt, attention_mask=torch.ones_like(prompt), **options)
    model.cuda()
    there = prompt.cuda()
    mask = torch.ones_like(there)
    got = model.generate(there, attention_mask=mask, **options).cpu()
    check(f"{name}: the same words as on the processor",
          bool((got[:, :20] == expected[:, :20]).all()) and got.shape == expected.shape)
    half = model.to(torch.bfloat16)
    check(f"{name} in bfloat16", half.generate(there, attention_mask=mask, **options).shape == expected.shape)
    median_time(f"{name}, 24 words", lambda: half.generate(there, attention_mask=mask, **options),
                torch.cuda.synchronize, rounds=5, warm=1)
