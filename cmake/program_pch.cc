// Gives the precompiled standard headers of programs a target to live in; they reuse them.
int main() {}
