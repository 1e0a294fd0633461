$(call test_program,harness-tap,tests/harness/tap.c)
