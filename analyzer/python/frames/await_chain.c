/*
 * Generators and coroutines that Cython made (Cython/Utility/Coroutine.c, 0.29 to 3.3), which are
 * in a `yield from` or `await` that has been resumed: what is sent to one goes on to what it
 * awaits, by Cython's helpers alone. Its own function is not entered.
 */
#include "frames.h"

#include <string.h>

/** Places of `yield` in one function. */
#define LABEL_LIMIT 65536u
#define NAME_LENGTH 1024u

/** The object as struct __pyx_CoroutineObject has it. */
struct cython_generator {
    uint64_t words[CYTHON_GENERATOR_WORDS]; /**< Behind its head. */
    size_t name;                            /**< Which of them is gi_name. */
};

static bool is_code(struct python *python, psc_addr address)
{
    const struct module *module = modules_find(python->modules, address);
    return module && module != python->info.module;
}

/**
 * gi_name and gi_qualname: two strings, one of which ends in the other. What follows them up to
 * resume_label and is_running stands the same in all versions.
 */
static bool find_name(struct python *python, struct cython_generator *generator)
{
    const uint64_t *words = generator->words;
    for (size_t i = CYTHON_GENERATOR_NAME_FIRST;
         i + CYTHON_GENERATOR_LABEL < CYTHON_GENERATOR_WORDS; i++) {
        if (!py_is_object_address(words[i]) || !py_is_object_address(words[i + 1]) ||
            !py_has_flags(python, words[i], PY_FLAG_STR) ||
            !py_has_flags(python, words[i + 1], PY_FLAG_STR))
            continue;
        generator->name = i;
        uint64_t state = words[i + CYTHON_GENERATOR_LABEL];
        uint32_t label = (uint32_t)state, running = (uint32_t)(state >> 32 & 0xff);
        return label < LABEL_LIMIT && running == 1; /* 0: it runs for the first time. */
    }
    return false;
}

/** One that is on some stack now; false for all other objects. */
static bool read_running(struct python *python, psc_addr object, struct cython_generator *ret)
{
    const struct py_type *type;
    psc_addr head = py_field_address(python, 0, PY_OBJECT_SIZE), body;
    /* Words of the stack are asked for by the hundred, and few have a function there. */
    if (!head || !py_is_object_address(object) ||
        target_read_u64(python->target, object + head + UINT64_C(8) * CYTHON_GENERATOR_BODY,
                        &body) != PSC_OK ||
        !is_code(python, body) || py_type_of(python, object, &type) != PSC_OK ||
        cython_type_find(type->name) != CYTHON_TYPE_GENERATOR)
        return false;
    return target_read(python->target, object + head, ret->words, sizeof(ret->words)) == PSC_OK &&
           find_name(python, ret);
}

/** Wrappers are awaitables of one generator, to which they point first. */
static psc_addr behind_wrappers(struct python *python, psc_addr object)
{
    const struct py_type *type;
    psc_addr head = py_field_address(python, 0, PY_OBJECT_SIZE);
    for (size_t depth = 0; depth < PY_WRAPPER_DEPTH; depth++) {
        if (!py_is_object_address(object) || py_type_of(python, object, &type) != PSC_OK)
            return 0;
        if (cython_type_find(type->name) != CYTHON_TYPE_AWAITABLE)
            return object;
        if (target_read_u64(python->target, object + head, &object) != PSC_OK)
            return 0;
    }
    return 0;
}

/** What a generator that runs awaits; false: its own function runs. */
static bool read_awaiting(struct python *python, psc_addr object,
                          const struct cython_generator *generator, struct python_awaiting *ret)
{
    const struct py_type *type;
    /* Since 3.1 the function that sends stands behind it. */
    size_t at = generator->name - 1;
    if (!generator->words[at] || is_code(python, generator->words[at]))
        at--;
    psc_addr given = generator->words[at];
    if (!py_is_object_address(given) || py_type_of(python, given, &type) != PSC_OK ||
        type->kind == PY_KIND_TYPE)
        return false;
    size_t label = generator->name + CYTHON_GENERATOR_LABEL;
    *ret = (struct python_awaiting){
        .object = object,
        .body = generator->words[CYTHON_GENERATOR_BODY],
        .label = (uint32_t)generator->words[label],
        .label_offset = py_field_address(python, 0, PY_OBJECT_SIZE) + 8 * label,
        .awaited = behind_wrappers(python, given),
    };
    return ret->label && ret->awaited &&
           py_read_string(python, generator->words[generator->name + CYTHON_GENERATOR_QUALNAME],
                          NAME_LENGTH, &ret->function) == PSC_OK;
}

enum python_running python_read_running(struct python *python, psc_addr object,
                                        struct python_awaiting *ret)
{
    struct cython_generator generator;
    if (!read_running(python, object, &generator))
        return PYTHON_NOT_RUNNING;
    return read_awaiting(python, object, &generator, ret) ? PYTHON_AWAITING : PYTHON_RUNNING;
}

psc_addr python_running_body(struct python *python, psc_addr object)
{
    struct cython_generator generator;
    return read_running(python, object, &generator) ? generator.words[CYTHON_GENERATOR_BODY] : 0;
}

psc_addr python_running_frame(struct python *python, psc_addr object)
{
    struct py_generator generator;
    bool fine = py_is_object_address(object) && py_is_generator(python, object) &&
                !python_running_body(python, object) &&
                py_generator_read(python, object, &generator) == PSC_OK &&
                generator.state == PY_GENERATOR_RUNNING;
    return fine ? generator.frame.address : 0;
}
