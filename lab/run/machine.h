// Machine: what the figures were measured on, and which CPUs the server and the load get.
//
// Thread   Any; place_self() is the calling thread's.
// Errors   What cannot be read is left empty.
#pragma once

#include <string>
#include <vector>

#include "lab/report/results.h"

namespace tiderace::lab::run {

// `root` stands for "/"; a test has one of its own.
report::Machine describe_machine(const std::string& root = "");

// Half of the CPUs for the server, the others for the load; both empty where there is one only, or
// where threads cannot be placed.
struct Placing {
    std::vector<unsigned> server;
    std::vector<unsigned> load;
};
std::vector<unsigned> usable_cpus();
Placing place(const std::vector<unsigned>& cpus);
// This thread, and all that it starts from now on. False where it could not be done.
bool place_self(const std::vector<unsigned>& cpus);

}  // namespace tiderace::lab::run
