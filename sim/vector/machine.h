/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIM_VECTOR_MACHINE_H
#define SIM_VECTOR_MACHINE_H
/** A vector core by numbers, read from a file of `name = value` lines. A cycle is the time of a
 *  simple vector instruction (thesis of 2021, section 9.4). docs/design/vector-core.md says what
 *  each number means, which of them the thesis gives, and which are ours. */
#include "borg/diag.h"

/** X(name, default, least, most, text): integers. */
#define VS_MACHINE_NUMBERS(X)                                                                      \
    X(lanes, 256, 1, 4096, "64-bit lanes of a vector register")                                    \
    X(vector_registers, 256, 1, 1 << 20, "physical vector registers")                              \
    X(mask_registers, 16, 1, 1 << 20, "physical mask registers")                                   \
    X(slots, 16, 1, 64, "most partitions at once: fetch units")                                    \
    X(cores, 1, 1, 64, "that share controllers, cache and bandwidth; all else each has")           \
    X(pipelines, 8, 1, 64, "vector pipelines")                                                     \
    X(fma_units, 2, 0, 64, "units of a pipeline for FMA alone")                                    \
    X(fma_alu_units, 1, 0, 64, "units of a pipeline for FMA or ALU instructions")                  \
    X(alu_store_units, 1, 0, 64, "units of a pipeline for ALU, stores and complex instructions")   \
    X(complex_lanes, 1, 1, 4096, "lanes that a complex instruction moves in a cycle")              \
    X(store_lanes, 1, 1, 4096, "lanes that a store writes in a cycle")                             \
    X(divide_cycles, 8, 1, 10000, "of a division or square root")                                  \
    X(branch_cycles, 1, 1, 1000, "of a branch or join, in the fetch unit")                         \
    X(start_cycles, 1, 0, 100000, "until a slot has its next partition")                           \
    X(fetch_rate, 1, 1, 64, "instructions that a fetch unit takes in a cycle")                     \
    X(buffer, 32, 1, 4096, "instructions that wait in the buffer")                                 \
    X(issue_width, 4, 1, 256, "instructions that leave the buffer in a cycle")                     \
    X(ports, 2, 1, 256, "loads whose addresses are made at once")                                  \
    X(load_latency, 32, 1, 100000, "cycles from memory's answer to the register")                  \
    X(memory_queue, 32, 1, 4096, "accesses under way")                                             \
    X(controllers, 6, 1, 256, "memory controllers, lines in turn")                                 \
    X(line_bytes, 128, 8, 4096, "of a line")                                                       \
    X(granule_bytes, 8, 1, 4096, "least that memory moves")                                        \
    X(cache_kib, 0, 0, 1 << 24, "of the last-level cache; 0: all is in it")                        \
    X(cache_ways, 16, 1, 256, "lines of a set of it")                                              \
    X(miss_latency, 96, 0, 100000, "cycles more for what is not in it")

/** X(name, default, words): choices. */
#define VS_MACHINE_WORDS(X)                                                                        \
    X(dispatch, VS_TO_PIPELINE, "pipeline", "striped", NULL)                                       \
    X(access, VS_BY_SPANS, "spans", "lanes", "stride")                                             \
    X(complex_by, VS_BY_VL, "vl", "active", NULL)                                                  \
    X(policy, VS_OLDEST, "oldest", "robin", NULL)                                                  \
    X(assign, VS_CYCLIC, "cyclic", "block", "steal")

enum { VS_TO_PIPELINE, VS_STRIPED };
enum { VS_BY_SPANS, VS_BY_LANES, VS_BY_STRIDE };
enum { VS_BY_VL, VS_BY_ACTIVE };
enum { VS_OLDEST, VS_ROBIN };
enum { VS_CYCLIC, VS_BLOCK, VS_STEAL };

typedef struct vs_machine {
    char name[64];
#define X(name, value, least, most, text) int32_t name;
    VS_MACHINE_NUMBERS(X)
#undef X
#define X(name, value, ...) int32_t name;
    VS_MACHINE_WORDS(X)
#undef X
    double bandwidth; /* bytes of memory in a cycle, 1e-3 .. 1e6 */
    double clock_ghz; /* of a cycle: for seconds alone */
} vs_machine;

/** NEC SX-Aurora as the thesis has it. */
void vs_machine_init(vs_machine *machine);
/** Read a file's text over what the machine is. False after messages with line and caret. */
bool vs_machine_read(vs_machine *machine, const char *file, const char *text, size_t length,
                     borg_diags *diags);
/** Set one number or word by text; NULL, or why not, in the arena. */
const char *vs_machine_set(vs_machine *machine, const char *key, const char *value,
                           borg_arena *arena);
/** The file that reads as this machine. */
void vs_machine_print(const vs_machine *machine, borg_sink *sink);

#endif
