// The common part of the databases' floors: the next row to ask for, the time, the words at the
// end.
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const uint32_t members = 10000; /* as in data_servers.py */

static long next_id(void) {
    static uint32_t seed = 1;
    seed = seed * 1664525 + 1013904223;
    return seed % members + 1;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void give_up(const char* why) {
    fprintf(stderr, "%s\n", why);
    exit(1);
}

static void say(unsigned long answers, unsigned long wrong, double seconds) {
    printf("{\"answers\": %lu, \"wrong\": %lu, \"seconds\": %.6f}\n", answers, wrong, seconds);
}
