/** @file The places in a frame that have names: locals, cells, and what f_locals and its like hold.
 */
#ifndef PSC_PY_SLOTS_H
#define PSC_PY_SLOTS_H

#include "objects.h"

#define PY_SLOT_COUNT_LIMIT 4096u /**< Of one code object. */

/* co_flags: names are in slots, not in a dict. */
#define PY_CODE_OPTIMIZED 0x1u

struct py_slot_value {
    psc_addr name;
    psc_addr value; /**< As the slot has it, see py_untag() and py_add_tagged_int(); 0: none. */
    bool cell;      /**< Of this function for others, or of an outer one. */
    bool done;      /**< For the caller. */
};

struct py_slots {
    struct py_slot_value *items; /**< malloc'd, see py_slots_deinit(). */
    size_t count;
    size_t nlocals; /**< The first ones: arguments and plain names. */
};

/** All slots of a frame; `ret_readable` is false when there are only names. */
PSC_MUST_CHECK enum psc_status py_slots_read(struct python *python,
                                             const struct python_frame *frame, struct py_slots *ret,
                                             bool *ret_readable);
/** The slots of a code object's frames, without values. */
PSC_MUST_CHECK enum psc_status py_slots_list(struct python *python, psc_addr code,
                                             struct py_slots *ret);
void py_slots_deinit(struct py_slots *slots);

/** Adds the text of an int that lies in the slot itself (3.14+); false when none does. */
bool py_add_tagged_int(const struct python *python, psc_addr slot, struct text *text);
/** The object that a slot points to. */
psc_addr py_untag(const struct python *python, psc_addr slot);
/** What a cell holds; the slot of a cell variable holds no cell before it is made. */
psc_addr py_follow_cell(struct python *python, psc_addr object);

/** A dict that hangs on a frame, by its field in either kind of frame. */
PSC_MUST_CHECK enum psc_status py_frame_dict_open(struct python *python, psc_addr frame,
                                                  enum py_field field, enum py_field object_field,
                                                  struct py_items *ret);

#endif
