/**
 * @file
 * Part of the door of python/: the types of Cython's runtime, which its modules bring along
 * (Cython/Utility/CythonFunction.c, Coroutine.c, AsyncGen.c, ObjectHandling.c; 0.29 to 3.3).
 */
#ifndef PSC_CYTHON_TYPES_H
#define PSC_CYTHON_TYPES_H

enum cython_type {
    CYTHON_TYPE_NONE,
    CYTHON_TYPE_FUNCTION,  /**< It begins as a built-in function does. */
    CYTHON_TYPE_GENERATOR, /**< struct __pyx_CoroutineObject: see below. */
    CYTHON_TYPE_AWAITABLE, /**< Of one generator, which it holds first, behind its head. */
    CYTHON_TYPE_HELPER     /**< Nothing that holds any of the above. */
};

/** By a name without a module. */
enum cython_type cython_type_find(const char *name);

/** The module of these types is named after Cython's ABI; before 3.0 they may have none. */
#define CYTHON_TYPE_MODULE "_cython_"
/** Cython/Compiler/Naming.py, closure_class_prefix; a number, and the function's name follow. */
#define CYTHON_TYPE_CLOSURE "__pyx_scope_struct_"

/**
 * struct __pyx_CoroutineObject in words behind the object's head. What stands before gi_name has
 * one to four words more with the version; what is behind it stands the same from there in all.
 */
enum {
    CYTHON_GENERATOR_BODY = 0,
    /** Behind body and closure, exceptions, weak references, class, and what it awaits. */
    CYTHON_GENERATOR_NAME_FIRST = 5,
    CYTHON_GENERATOR_QUALNAME = 1, /**< From gi_name on. */
    CYTHON_GENERATOR_LABEL = 5,    /**< From gi_name on: resume_label, and is_running behind it. */
    CYTHON_GENERATOR_WORDS = 24
};

#endif
