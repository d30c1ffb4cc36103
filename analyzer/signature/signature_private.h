/** Shared by the files of room `signature` only. */
#ifndef PSC_SIGNATURE_PRIVATE_H
#define PSC_SIGNATURE_PRIVATE_H

#include "signature.h"

/** What a rule says of the frames that it matches. */
enum rule_action {
    RULE_SENTINEL,   /**< It only reports what went wrong: it and all that it calls are left out. */
    RULE_SKIP,       /**< Says nothing of the cause. */
    RULE_PREFIX,     /**< Is named, and so is its caller. */
    RULE_KEEP,       /**< Is named, and ends the native part. */
    RULE_IN_APP,     /**< A Python or Cython file of the application. */
    RULE_NOT_IN_APP, /**< Of a library, or of Python itself. */
    RULE_RENAME      /**< One name of several for the same function. */
};
#define RULE_ACTIONS 7u

/** A line of the rules; the strings are the rules'. */
struct rule {
    enum rule_action action;
    const char *module;   /**< Pattern of the module's file name; NULL: any. */
    const char *pattern;  /**< As fnmatch(3) has it: of the function, or of a path. */
    const char *new_name; /**< RULE_RENAME */
    const char *source;   /**< The file that it stands in. */
    uint32_t line;
};

/**
 * Reads one line, which is cut into strings in place.
 * @return NULL, or what is wrong with it (static). An empty line or a comment has no pattern.
 */
const char *parse_rule(char *line, struct rule *ret);

/** The file that a function is in; either may be NULL. */
struct rule_module {
    const char *name; /**< As signature_name_module() has it. */
    const char *path;
};

/**
 * The first rule of one of the actions (bits 1 << action) that matches; NULL: none. `module` may be
 * NULL. A function without a name is "".
 */
const struct rule *rules_find(const struct signature_rules *rules, unsigned actions,
                              const struct rule_module *module, const char *text);

/**
 * The name that a function has in all builds: without arguments, template arguments, hashes,
 * what compilers append to parts and copies of it, versions, and variants by instruction set.
 */
void signature_name_function(const char *function, struct text *ret);
/** A message without what differs from run to run: numbers, addresses, folders. */
void signature_mask_message(const char *message, struct text *ret);
/** "libfoo" for "libfoo-1a2b3c4d.so.1.2", "_als" for "_als.cpython-311-x86_64-linux-gnu.so". */
void signature_name_module(const char *name, struct text *ret);
/** "a" for "/srv/a.py", "pkg" for "/x/pkg/__init__.py"; names in <> as they are. */
void signature_name_file(const char *path, struct text *ret);

/** What a signature is made of, in order. */
struct part_list {
    const struct signature_rules *rules;
    struct arena *arena;
    struct text *explain; /**< NULL: nobody wants to know just now. */
    const char **items;   /**< malloc'd; the strings are the arena's. */
    size_t count;
    size_t capacity;
    bool failed; /**< Out of memory. */
};

void part_list_deinit(struct part_list *parts);
/** Appends a copy. */
void parts_add(struct part_list *parts, const char *part);
/** "  #3 strlen (libc.so.6): prefix, by line 12 of the built-in rules" */
void parts_explain(struct part_list *parts, const struct trace_frame *frame, const char *what,
                   const struct rule *rule);

/**
 * Adds the functions between the end of the stack and its first Python or Cython frame.
 * @return how many were added.
 */
size_t add_native_parts(struct part_list *parts, const struct trace_thread *thread);
/**
 * Adds the native functions of a recursion that overflowed the stack, in the order of their names:
 * where in it the stack ended, and in what it had called, is by chance. @return how many.
 */
size_t add_native_recursion_parts(struct part_list *parts, const struct trace_thread *thread);
/** Adds the nearest Python and Cython frames of the application. @return how many. */
size_t add_python_parts(struct part_list *parts, const struct trace_thread *thread,
                        bool without_native);
/** Adds the functions of a recursion that overflowed the stack. @return how many. */
size_t add_recursion_parts(struct part_list *parts, const struct trace_thread *thread);
/** Adds the nearest function of each thread of a deadlock, sorted. @return how many. */
size_t add_deadlock_parts(struct part_list *parts, const struct psc_trace *trace,
                          const struct trace_deadlock *deadlock);
/** What needs no symbols: build-ids, offsets, code objects. */
const char *make_exact_key(struct arena *arena, const struct trace_thread *thread,
                           const struct trace_crash *crash);

/** 40 hexadecimal digits of SHA-256 (FIPS 180-4) over the strings, each with its end. */
const char *digest_strings(struct arena *arena, const char *const *strings, size_t count);

#endif
