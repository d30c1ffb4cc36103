/** @file Computations that are suspended: generators, coroutines, async generators. */
#ifndef PSC_PY_GENERATOR_H
#define PSC_PY_GENERATOR_H

#include "objects.h"

/** co_flags: CO_COROUTINE, of "async def". */
#define PY_CODE_COROUTINE UINT32_C(0x80)

/** Objects that only pass an await on, one inside the other. */
#define PY_WRAPPER_DEPTH 4u

enum py_generator_state {
    PY_GENERATOR_UNKNOWN,
    PY_GENERATOR_CREATED,   /**< Not begun. */
    PY_GENERATOR_SUSPENDED, /**< At a yield. */
    PY_GENERATOR_AWAITING,  /**< At an await or a yield from. */
    PY_GENERATOR_RUNNING,
    PY_GENERATOR_ENDED
};

struct py_generator {
    enum py_generator_state state;
    struct python_frame frame; /**< Not of one that has ended. */
    psc_addr awaited;          /**< What it awaits or yields from; 0: nothing, or not known. */
};

/** What a generator, coroutine or async generator is doing. */
PSC_MUST_CHECK enum psc_status py_generator_read(struct python *python, psc_addr object,
                                                 struct py_generator *ret);
/** True for generators, coroutines and async generators. */
bool py_is_generator(struct python *python, psc_addr object);
/** What is behind the wrappers of an await: the object itself when it is none, 0 on a fault. */
psc_addr py_awaited_target(struct python *python, psc_addr object);

#endif
