# SPDX-License-Identifier: BSD-3-Clause
"""Machine learning: PyTorch with three standard models, JAX, and a linear model by kernels of the program's own."""
from house.declare import USUAL, Answer, Headline, Need, Ours, Plot, Program, Reference, Study

MODELS = (("resnet50", "ResNet-50", ("training", "inference of 1", "inference of 64")),
          ("gpt2", "GPT-2", ("training", "16 words")), ("llama", "Llama", ("training", "16 words")))
TORCH = (Need("real-gpu"), Need("python", "torch"))
WORK = tuple("%s, %s" % (title, what) for _, title, whats in MODELS for what in whats)
BUSY = tuple("%s, GPU busy" % name for name in WORK)

STUDY = Study(
    name="learning",
    title="Machine learning",
    question="What do training and inference of today's models lose on a remote GPU, and does the GPU stay as busy as a local one?",
    columns=USUAL,
    programs=(
        Program("pytorch", ("{python}", "{here}/programs/learn.py", "{size}"), title="PyTorch: models with random weights",
                sizes=tuple(name for name, _, _ in MODELS), needs=TORCH, seconds=18, limit=180, rounds=3,
                miniature=dict(limit=60)),
        Program("jax", ("{python}", "{here}/programs/learn_jax.py"), title="JAX: a network of eight layers",
                needs=(Need("real-gpu"), Need("python", "jax")), seconds=12, limit=180, rounds=3,
                miniature=dict(limit=60)),
        Program("own", ("{programs}/own_kernels", "training", "30", "1024"), title="A linear model by kernels of the program's own",
                needs=(Need("file", "{programs}/own_kernels"),), seconds=3,
                miniature=dict(command=("{programs}/own_kernels", "training", "3", "32"), limit=30)),
    ),
    plots=(
        Plot("Training and inference with PyTorch, beside the native driver", WORK, kind="bars", show="ratio", program="pytorch"),
        Plot("How busy the GPU is", BUSY, kind="bars", y="% of the time", program="pytorch"),
        Plot("JAX, beside the native driver", ("JAX, compiled step", "JAX, network call by call", "JAX, first step with compilation"),
             program="jax", kind="bars", show="ratio"),
        Plot("A linear model by kernels of the program's own", ("linear model, training", "linear model, inference"),
             program="own", kind="bars", show="ratio",
             references=(Reference("as native", "", value=1),)),
    ),
    measured="ResNet-50 in channels-last order with batches of 64 pictures, GPT-2 (124 million weights) with 8 texts of 512 words, and "
             "a model of Llama's kind (1 billion weights, 32 heads of which 8 are shared) with 4 texts of 512 words: one step of "
             "training is a batch from page-locked memory, forwards, backwards and AdamW in bfloat16, waited for. Inference of "
             "ResNet-50 has pictures to the GPU and answers back; the language models say 16 words, each of which the program "
             "reads before the next. Weights are random, the loss must fall. PyTorch as it comes, without torch.compile. While JAX looks for the "
             "fastest kernels, some wait for words in page-locked memory of the program: where that is not shared they have a copy. How busy "
             "the GPU is says the driver's own management library of this machine, asked five times a second in all columns: what a "
             "box says of it is some seconds old.",
    unmeasured="Reading of data sets, several GPUs (see the study of collectives), other precisions. In miniature, and where PyTorch "
               "is not installed, only the linear model is measured.",
    headlines=(Headline("ResNet-50, a step of training", "ResNet-50, training", "pytorch"),
               Headline("Llama of a billion weights, a step of training", "Llama, training", "pytorch"),
               Headline("GPT-2 says 16 words", "GPT-2, 16 words", "pytorch")),
    answers=(
        Answer("rCUDA", "none", "the paper has no machine learning", "-", "Small models launch many short kernels, which are issued "
               "ahead and not waited for; what counts is each wait, such as for every word of a language model.",
               (Ours("ResNet-50, training", "shm", program="pytorch"), Ours("GPT-2, 16 words", "shm", program="pytorch"),
                Ours("GPT-2, 16 words", "tcp", program="pytorch"), Ours("Llama, training", "shm", program="pytorch"),
                Ours("Llama, training", "tcp", program="pytorch"), Ours("JAX, compiled step", "shm", program="jax"),
                Ours("JAX, compiled step", "tcp", program="jax"))),
    ),
)
