/**
 * @file
 * Room `python/locks`: what a thread of Python's sleeps in, what that is for, and who stands in it.
 * The doors are in python_waits.h; this is what the files share.
 */
#ifndef PSC_PYTHON_LOCKS_H
#define PSC_PYTHON_LOCKS_H

#include "frames.h"

/* ---- lock_cache.c ---- */

/** What is found out once of a pair of addresses. */
enum locks_fact {
    LOCKS_MODULE_NAME, /**< Of globals: `__name__`. */
    LOCKS_GLOBAL_NAME, /**< Of globals and an object: its name there. */
    LOCKS_GIVEN_BACK,  /**< Of a condition: its lock. */
    LOCKS_BLOCK,       /**< Of a function that ends a block and its object: what the block holds. */
    LOCKS_FACTS
};

/** What is kept of it: threads that wait alike ask the same. 0 and NULL: there is none. */
struct locks_known {
    psc_addr first;
    psc_addr second;
    psc_addr address;
    const char *name;
};

/**
 * @param ret_found  whether that is what is kept of the two; else it is to be filled in.
 * @return NULL: out of memory.
 */
struct locks_known *locks_recall(struct python *python, enum locks_fact fact, psc_addr first,
                                 psc_addr second, bool *ret_found);
/** The dictionary of a frame's globals. */
PSC_MUST_CHECK enum psc_status locks_find_globals(struct python *python,
                                                  const struct python_frame *frame, psc_addr *ret);
/** `__name__` of these; NULL: not known. */
const char *locks_name_of_module(struct python *python, psc_addr globals);

/* ---- lock_object.c ---- */

/** Fills kind, lock, type and owner by the semaphore that an object of Python's has; false: none.
 */
bool locks_find_by_semaphore(struct python *python, const struct python_wait_place *place,
                             struct python_wait *ret);
/** Fills kind, type and what is known of its owner by a lock's address; false: it is none. */
bool locks_describe(struct python *python, psc_addr object, struct python_wait *ret);
/** PYTHON_WAIT_NONE: it is no lock. */
enum python_wait_kind locks_kind_of(struct python *python, psc_addr object);

/** Of a SemLock that only one can have; false: nobody in this process has it. */
bool locks_read_process_lock(struct python *python, psc_addr object,
                             struct python_process_lock *ret);

/* ---- parked.c ---- */

/** Fills kind, lock, type and owner by the futex; kind NONE: it is none of Python's. */
void locks_find_object(struct python *python, const struct python_wait_place *place,
                       struct python_wait *ret);

/* ---- world.c ---- */

/** Whether what the thread is parked on belongs to a stop of all threads; fills the wait then. */
bool locks_find_world(struct python *python, const struct python_wait_place *place, psc_addr key,
                      struct python_wait *ret);

/* ---- wait_purpose.c ---- */

/**
 * What the sleep is for, by the functions of the standard library that are on top.
 * @param ret_outside  the index of the first frame outside of them.
 */
void locks_find_purpose(struct python *python, const struct python_wait_place *place,
                        struct python_wait *ret, size_t *ret_outside);

/* ---- names_of_objects.c ---- */

/** A name by which code in the frame has the object: "jobs", "self.lock"; NULL: none. */
const char *locks_name_of(struct python *python, const struct python_frame *frame, psc_addr object);

#endif
