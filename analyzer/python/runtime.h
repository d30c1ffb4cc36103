/** @file What the files of python/ itself share: how an interpreter and its threads are found. */
#ifndef PSC_PYTHON_RUNTIME_H
#define PSC_PYTHON_RUNTIME_H

#include "objects.h"

/* ---- handle.c ---- */

/** Makes what the handle's owners keep; on failure handle_deinit() is called all the same. */
PSC_MUST_CHECK enum psc_status handle_init(struct python *python);
void handle_deinit(struct python *python);

/* ---- thread_names.c ---- */

struct py_thread_name {
    uint64_t ident;
    const char *name;
};

/**
 * Of threading._active of an interpreter those of the given threads that have no name yet, by
 * ident: malloc'd; none when it can not be read.
 */
size_t thread_names_read(struct python *python, psc_addr interpreter,
                         const struct python_thread *threads, size_t count,
                         struct py_thread_name **ret);
/** NULL when there is none. */
const char *thread_names_find(const struct py_thread_name *names, size_t count, uint64_t ident);

/* ---- runtime.c ---- */

/** What is known of the version; without `text` it is made of the number. */
void runtime_set_version(struct python *python, uint32_t hex, const char *text);
/** A version of which only the first two numbers are known. */
void runtime_set_short_version(struct python *python, uint32_t hex);
/** By what the module, or memory, says; false when nothing does. */
bool runtime_find_version(struct python *python, struct module *module, uint64_t runtime_size);
/** The layout for a version that was found out; false: there is no table for it. */
bool runtime_use_table(struct python *python, struct module *module, uint64_t runtime_size,
                       struct psc_error *err);
/**
 * Chooses between the two sizes of the object header where PyType_Type's address is not known: it
 * is the longer one when sys.modules is a dict only by that.
 */
void runtime_settle_header(struct python *python, uint64_t runtime_size);
/** Takes a _PyRuntime that begins with _Py_DebugOffsets; `head_bytes` are its first. */
bool runtime_take_self_described(struct python *python, psc_addr runtime, const uint8_t *head_bytes,
                                 struct psc_error *err);
/** Takes one by the table for its version. */
bool runtime_take_by_table(struct python *python, struct module *module, psc_addr runtime,
                           uint64_t runtime_size, struct psc_error *err);
/** What the module of a runtime that was taken tells of its objects; NULL: none. */
void runtime_adopt(struct python *python, struct module *module);

/* ---- find_runtime.c ---- */

/** Fills the handle, or says in `err`, which is PSC_ERR_NOT_FOUND at first, why not. */
bool find_runtime(struct python *python, struct psc_error *err);

/* ---- version_scan.c ---- */

/** Looks for the text of Py_GetVersion() in the writable memory of a module; NULL: in all. */
bool version_scan_find(struct python *python, const struct module *module,
                       struct py_version_text *ret);

/* ---- scan.c: runtimes without a symbol ---- */

/** Asks `accept` at each place of the cookie of _Py_DebugOffsets; true when it did. */
bool scan_find_cookie(struct python *python, const struct module *module,
                      bool (*accept)(struct python *python, psc_addr runtime));
/**
 * Finds an interpreter with the offsets of python->layout: a pointer to something whose
 * newest thread points back and has the thread pointer of one of the target's threads.
 * @param ret_pointer  where the pointer to it is.
 */
bool scan_find_interpreter(struct python *python, const struct module *module, psc_addr *ret,
                           psc_addr *ret_pointer);

/**
 * Up to 3.6, without a _PyRuntime: the interpreter that a module's memory points to from which the
 * list leads furthest to the one that is known; that one itself when there is none.
 */
psc_addr scan_find_newest(struct python *python, const struct module *module, psc_addr interpreter);

/* ---- thread.c ---- */

/** True when a PyInterpreterState of the present layout is at the address. */
bool thread_check_interpreter(struct python *python, psc_addr interpreter);

#endif
