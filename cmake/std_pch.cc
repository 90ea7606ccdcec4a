// Gives the precompiled standard headers a target to live in; the rooms reuse them.
