#include "runtime.h"

#include <string.h>

#define LIST_LIMIT 1024u /* Interpreters of a process that are passed. */

/* ---- the cookie ---- */

struct cookie_search {
    struct python *python;
    bool (*accept)(struct python *python, psc_addr runtime);
    bool found;
};

static bool visit_cookie(void *context, psc_addr address, const uint8_t *bytes, size_t size)
{
    struct cookie_search *search = context;
    size_t at = 0;
    while (at < size) {
        const uint8_t *hit = memmem(bytes + at, size - at, PY_DEBUG_COOKIE, 8);
        if (!hit)
            return true;
        at = (size_t)(hit - bytes) + 1;
        psc_addr runtime = address + (psc_addr)(hit - bytes);
        if (!(runtime & 7) && search->accept(search->python, runtime)) {
            search->found = true;
            return false;
        }
    }
    return true;
}

bool scan_find_cookie(struct python *python, const struct module *module,
                      bool (*accept)(struct python *python, psc_addr runtime))
{
    struct cookie_search search = {.python = python, .accept = accept};
    scan_writable(python, module, visit_cookie, &search);
    return search.found;
}

/* ---- pointers to an interpreter ---- */

struct interpreter_search {
    struct python *python;
    psc_addr interpreter;
    psc_addr pointer;
};

/*
 * The threads of a living process are known only when it has been stopped; but what a thread
 * pointer points to begins with its own address (glibc, sysdeps/x86_64/nptl/tls.h, tcbhead_t; musl,
 * src/internal/pthread_impl.h, struct pthread).
 */
static bool is_thread_pointer(struct target *target, uint64_t value)
{
    uint64_t self;
    for (size_t i = 0; i < target->thread_count; i++)
        if (value && target->threads[i].thread_pointer == value)
            return true;
    return target->kind == TARGET_PROCESS && target->machine->thread_pointer_is_self &&
           py_is_object_address(value) && target_read_u64(target, value, &self) == PSC_OK &&
           self == value;
}

/* With a thread that points back: what merely points to an interpreter has none. */
static bool has_thread(struct python *python, psc_addr interpreter, psc_addr *ret)
{
    psc_addr back;
    return py_read_u64(python, interpreter, PY_INTERP_THREADS, ret) == PSC_OK &&
           py_is_object_address(*ret) &&
           py_read_u64(python, *ret, PY_THREAD_INTERP, &back) == PSC_OK && back == interpreter;
}

/* The newest threads of a living process may not run yet, or not any more. */
static bool is_proved(struct python *python, psc_addr interpreter)
{
    psc_addr thread;
    psc_addr back;
    uint64_t id;
    if (!has_thread(python, interpreter, &thread))
        return false;
    for (size_t i = 0; i < LIST_LIMIT && py_is_object_address(thread); i++) {
        if (py_read_u64(python, thread, PY_THREAD_INTERP, &back) != PSC_OK || back != interpreter)
            return false;
        if (py_read_u64(python, thread, PY_THREAD_ID, &id) == PSC_OK &&
            is_thread_pointer(python->target, id))
            return true;
        if (py_read_u64(python, thread, PY_THREAD_NEXT, &thread) != PSC_OK)
            return false;
    }
    return false;
}

static bool visit_words(void *context, psc_addr address, const uint8_t *bytes, size_t size)
{
    struct interpreter_search *search = context;
    const struct target_mapping *last = NULL;
    for (size_t at = (8 - (address & 7)) & 7; at + 8 <= size; at += 8) {
        psc_addr word = load_u64(bytes + at);
        if (word < 4096 || word & 7)
            continue;
        if (!last || word < last->start || word >= last->end)
            last = target_find_mapping(search->python->target, word);
        if (last && is_proved(search->python, word)) {
            search->interpreter = word;
            search->pointer = address + at;
            return false;
        }
    }
    return true;
}

bool scan_find_interpreter(struct python *python, const struct module *module, psc_addr *ret,
                           psc_addr *ret_pointer)
{
    struct interpreter_search search = {.python = python};
    scan_writable(python, module, visit_words, &search);
    *ret = search.interpreter;
    *ret_pointer = search.pointer;
    return search.interpreter != 0;
}

/* ---- the newest of several interpreters ---- */

struct newest_search {
    struct python *python;
    psc_addr known;
    psc_addr newest;
    size_t steps; /* From the newest to the known one. */
};

/* How far along the list the known one is; 0: not there. */
static size_t count_steps(const struct newest_search *search, psc_addr interpreter)
{
    for (size_t steps = 1; steps < LIST_LIMIT; steps++) {
        if (py_read_u64(search->python, interpreter, PY_INTERP_NEXT, &interpreter) != PSC_OK ||
            !py_is_object_address(interpreter))
            return 0;
        if (interpreter == search->known)
            return steps;
    }
    return 0;
}

static bool visit_heads(void *context, psc_addr address, const uint8_t *bytes, size_t size)
{
    struct newest_search *search = context;
    psc_addr thread;
    for (size_t at = (8 - (address & 7)) & 7; at + 8 <= size; at += 8) {
        psc_addr word = load_u64(bytes + at);
        if (word < 4096 || word & 7 || word == search->newest ||
            !target_find_mapping(search->python->target, word) ||
            !has_thread(search->python, word, &thread))
            continue;
        size_t steps = count_steps(search, word);
        if (steps > search->steps) {
            search->steps = steps;
            search->newest = word;
        }
    }
    return true;
}

psc_addr scan_find_newest(struct python *python, const struct module *module, psc_addr interpreter)
{
    struct newest_search search = {.python = python, .known = interpreter, .newest = interpreter};
    scan_writable(python, module, visit_heads, &search);
    return search.newest;
}
