// Gives the precompiled GoogleTest headers a target to live in; the tests reuse them.
int main() {}
