/** A small trace made by hand, for the tests of the printers. */
#ifndef PSC_TRACE_SAMPLE_H
#define PSC_TRACE_SAMPLE_H

#include "print.h"

#include <string.h>

static const struct trace_module sample_blas = {
    .path = "/usr/lib/libopenblas.so.0",
    .name = "libopenblas.so.0",
    .build_id = "00ff12",
    .base = 0x7f0000000000,
    .file = TRACE_FILE_FOUND,
};

static const struct trace_location sample_axpy = {
    .kind = TRACE_CYTHON,
    .language = "Cython",
    .function = "axpy[double]",
    .name = "axpy",
    .symbol = "__pyx_fuse_1__pyx_f_8implicit_axpy",
    .file = "implicit/cpu/_als.pyx",
    .line = 18,
    .line_source = TRACE_LINE_C_FILE,
    .source = "y[i] += a * x[i]",
};
static const struct trace_location sample_fit = {
    .kind = TRACE_PYTHON,
    .language = "Python",
    .function = "AlternatingLeastSquares.fit",
    .name = "fit",
    .file = "implicit/cpu/als.py",
    .line = 166,
    .end_line = 166,
    .column = 9,
    .end_column = 30,
    .line_source = TRACE_LINE_CODE,
    .source = "solver(self.item_factors)",
};
static const struct trace_location sample_dgemm = {
    .kind = TRACE_NATIVE,
    .language = "C",
    .function = "cblas_dgemm",
    .symbol = "cblas_dgemm",
    .module = &sample_blas,
    .offset = 0x1a2b3c,
    .has_offset = true,
};
static const struct trace_location sample_inlined = {
    .kind = TRACE_NATIVE,
    .language = "C++",
    .function = "std::vector<int>::front() const",
    .file = "stl_vector.h",
    .line = 7,
    .line_source = TRACE_LINE_DWARF,
    .inlined = true,
    .module = &sample_blas,
};
static const struct trace_location sample_unknown = {.kind = TRACE_NATIVE, .language = "C"};
static const struct trace_location sample_eval = {
    .kind = TRACE_NATIVE,
    .language = "C",
    .function = "_PyEval_EvalFrameDefault",
    .module = &sample_blas,
    .offset = 0x10,
    .has_offset = true,
};
static const struct trace_location sample_gap = {
    .kind = TRACE_GAP,
    .function = "0x7f0000001000: page not in the core",
};

struct sample {
    struct psc_trace trace;
    struct trace_thread threads[4];
    struct trace_frame crashed[7];
    struct trace_frame idle[3][2];
    struct trace_module *modules[1];
    struct trace_module module;
    struct trace_crash crash;
    struct trace_python python;
    const char *arguments[4];
    struct warning warning;
};

/** One thread that crashed, two that wait alike, one whose stack has a gap. */
static const struct trace_interpreter sample_interpreters[] = {
    {.gil_known = true, .gil_holder_tid = 1234},
    {.id = 1, .gil_known = true},
    {.id = 7, .gil_id = 7, .gil_known = true, .gil_holder_tid = 1241}};

static const struct trace_operand sample_operands[] = {{"rax", 1}, {"rbx", 0xffffffffffffffe8}};

static inline struct psc_trace *sample_fill(struct sample *sample)
{
    *sample = (struct sample){
        .crashed =
            {
                {&sample_axpy, 0x401000, 1, 2, TRACE_TRUST_CONTEXT, 0, false, true, -1, NULL},
                {&sample_eval, 0x401100, 1, 2, TRACE_TRUST_CFI, 1, true, true, -1, NULL},
                {&sample_fit, 0, 0, 0x100, 0, 0, false, false, 0, NULL},
                {&sample_dgemm, 0x7f00001a2b3d, 1, 2, TRACE_TRUST_FRAME_POINTER, 0, false, true, -1,
                 NULL},
                {&sample_inlined, 0x7f0000000001, 1, 2, TRACE_TRUST_CFI, 0, false, true, -1, NULL},
                {&sample_gap, 0, 0, 0, 0, 0, false, false, -1, NULL},
                {&sample_unknown, 0x1234, 1, 2, TRACE_TRUST_SCAN, 0, false, true, -1, NULL},
            },
        .module = sample_blas,
        .crash = {.signal_number = 11,
                  .signal = "SIGSEGV",
                  .code = "SEGV_MAPERR",
                  .has_address = true,
                  .tid = 1234,
                  .summary = "accessing 0x0 (a null pointer), not mapped",
                  .cause = TRACE_CAUSE_NULL_POINTER,
                  .access = TRACE_ACCESS_WRITE,
                  .instruction = "mov %rax,0x18(%rbx)",
                  .operands = sample_operands,
                  .operand_count = 2},
        .python = {.implementation = "CPython",
                   .version = "3.11.2",
                   .interpreters = sample_interpreters,
                   .interpreter_count = 1,
                   .gil_known = true,
                   .gil_holder_tid = 1234},
        .arguments = {"/usr/bin/python3", "train.py", "--epochs", "3"},
        .warning = {"file-missing", "/opt/x.so: not found"},
    };
    for (size_t i = 0; i < 3; i++) {
        sample->idle[i][0] = (struct trace_frame){
            &sample_dgemm, 0x7f00001a2b3d, 1, 2, TRACE_TRUST_CFI, 0, false, true, -1, NULL};
        sample->idle[i][1] = (struct trace_frame){.location = i == 2 ? &sample_gap : &sample_fit,
                                                  .interpreter_id = i == 2 ? -1 : 0};
        sample->threads[i + 1] = (struct trace_thread){
            .tid = (int32_t)(1240 + i),
            .has_python = i < 2,
            .python_thread_id = 0x7f0000001240 + i,
            .name = i ? "worker-1" : "worker-0",
            .state = i == 2 ? TRACE_STATE_NO_PYTHON : TRACE_STATE_WAITS_FOR_GIL,
            .frames = sample->idle[i],
            .frame_count = 2,
        };
    }
    sample->threads[0] = (struct trace_thread){
        .tid = 1234,
        .has_python = true,
        .python_thread_id = 0x7f0000001234,
        .name = "MainThread",
        .state = TRACE_STATE_CRASHED | TRACE_STATE_HOLDS_GIL | TRACE_STATE_MAIN,
        .frames = sample->crashed,
        .frame_count = 7,
    };
    sample->modules[0] = &sample->module;
    sample->trace = (struct psc_trace){
        .kind = "core",
        .path = "core.1234",
        .pid = 1234,
        .executable = "/usr/bin/python3",
        .arguments = sample->arguments,
        .argument_count = 4,
        .architecture = "x86_64",
        .python = &sample->python,
        .crash = &sample->crash,
        .modules = sample->modules,
        .module_count = 1,
        .threads = sample->threads,
        .thread_count = 4,
        .warnings = {.items = &sample->warning, .count = 1},
    };
    return &sample->trace;
}

static const struct trace_location *sample_traceback[] = {&sample_fit};
static const struct trace_exception sample_exceptions[] = {
    {.type = "KeyError",
     .message = "'rank'",
     .raised = true,
     .traceback = sample_traceback,
     .traceback_count = 1},
    {.type = "pkg.Error", .message = "", .link = TRACE_LINK_CONTEXT, .traceback_cut = true},
    {.type = "OSError", .message = "a\nb", .link = TRACE_LINK_CAUSE},
    {.type = "StopIteration"},
};
static const struct trace_local sample_local[] = {{"self", "<pkg.Model object at 0x1>", true},
                                                  {"name", "'x'", false},
                                                  {"name", "'again'", false}};
static const struct trace_locals sample_locals = {sample_local, 3};

/** Gives the thread that crashed exceptions, and its one Python frame locals. */
static inline void sample_add_values(struct sample *sample, const struct trace_locals *locals[7])
{
    for (size_t i = 0; i < 7; i++)
        locals[i] = i == 2 ? &sample_locals : NULL;
    sample->threads[0].locals = locals;
    sample->threads[0].exceptions = sample_exceptions;
    sample->threads[0].exception_count = 4;
}

static inline int sample_append(void *text, const char *bytes, size_t size)
{
    text_add(text, bytes, size);
    return ((struct text *)text)->failed;
}

#endif
