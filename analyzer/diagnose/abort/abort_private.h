/** @file Shared by the files of room `diagnose/abort` only. */
#ifndef PSC_ABORT_PRIVATE_H
#define PSC_ABORT_PRIVATE_H

#include "abort.h"
#include "disassembly.h"

/** Innermost frames in which the one who aborts is looked for. */
#define ABORT_FRAMES 64u
/** Bytes of a message. */
#define ABORT_MESSAGE_LIMIT 4096u

struct abort_frame {
    psc_addr pc;                 /**< As struct native_frame has it. */
    struct module *module;       /**< NULL: outside of all. */
    struct module_symbol symbol; /**< name NULL: none covers it. */
};

/** The innermost frames of the stack, those of abort() and its own calls among them. */
struct abort_stack {
    const struct abort_input *input;
    struct disassembler *disassembler;
    struct abort_frame frames[ABORT_FRAMES];
    size_t count;
    size_t aborts; /**< Index of abort()'s frame, which is there. */
};

/** Looks at the frames outward of abort()'s; fills `ret` when it knows who called it. */
typedef enum psc_status abort_reader(const struct abort_stack *stack, struct abort_finding *ret);

/* ---- the readers ---- */

abort_reader libc_message_read;
abort_reader python_fatal_read;
abort_reader cxx_terminate_read;
abort_reader cxx_missing_method_read;
abort_reader rust_panic_read;
abort_reader sanitizer_report_read;

/* ---- frames.c ---- */

/** False when abort() is not on the stack. */
bool abort_stack_init(const struct abort_input *input, struct abort_stack *ret);
void abort_stack_deinit(struct abort_stack *stack);
/** The innermost frame from `first` on of one of the functions; stack->count: none. */
size_t abort_stack_find(const struct abort_stack *stack, size_t first, const char *const *names,
                        size_t name_count);
/**
 * Copies a text of the target into the arena, without line ends behind it. False when it cannot be
 * read, is empty, or is no UTF-8.
 */
bool abort_read_text(const struct abort_stack *stack, psc_addr address, const char **ret);
/** The same of a text of known length, which may hold line ends. */
bool abort_read_sized_text(const struct abort_stack *stack, psc_addr address, uint64_t size,
                           const char **ret);

/* ---- call_site.c ---- */

/**
 * What an argument is that a call passes: the address or number that was put into its register
 * shortly before, on the only way to the call.
 * @param pc        the return address of the call.
 * @param argument  from 0.
 */
bool call_site_read_argument(const struct abort_stack *stack, psc_addr pc, unsigned argument,
                             uint64_t *ret);

/**
 * What an argument was when the function of a frame was entered, where it keeps it in a register
 * that calls preserve.
 */
bool call_site_read_entry(const struct abort_stack *stack, size_t frame, unsigned argument,
                          uint64_t *ret);

/* ---- followed_code.c ---- */

/**
 * What a function of the target would return for one argument, where that follows from memory and
 * takes no decision: loads, sums, calls of such functions. False for all others.
 */
bool followed_code_call(const struct abort_stack *stack, psc_addr function, uint64_t argument,
                        uint64_t *ret);

/* ---- cxx_type.c ---- */

/** A class or other type of C++, by its std::type_info. */
struct cxx_type {
    psc_addr info;
    const char *name; /**< Mangled, as std::type_info::name() has it. */
};

bool cxx_type_read(const struct abort_stack *stack, psc_addr info, struct cxx_type *ret);
/** As a person writes it: "std::runtime_error". */
const char *cxx_type_title(const struct abort_stack *stack, const struct cxx_type *type);
/** Where in an object of a class one of its base classes is; false: it has none, or twice. */
bool cxx_type_find_base(const struct abort_stack *stack, const struct cxx_type *type,
                        psc_addr object, const char *base, psc_addr *ret);

#endif
