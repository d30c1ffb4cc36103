/** @file What the files of this room share: findings as they are made. */
#ifndef PSC_VERIFY_PRIVATE_H
#define PSC_VERIFY_PRIVATE_H

#include "verify.h"

struct finding_place {
    uint64_t address; /* The key. */
    size_t index;
};

struct verification {
    struct heap *heap;
    struct findings *findings;
    struct hash_table places; /* Of what is damaged: the numbers of their findings. */
    uint32_t text_type;       /* That of str. */
    const uint32_t *found;    /* See heap_count_found(). */
    bool failed;
};

/** The finding of that place; a new one without a message when there was none. NULL: too many. */
struct finding *verify_add(struct verification *all, enum finding_kind kind, psc_addr address);
void verify_add_holder(struct finding *finding, uint32_t object);
/** Takes the text over. */
void verify_set_message(struct verification *all, struct finding *finding, struct text *text);
/** "TYPE at 0x..." */
void verify_add_object(struct heap *heap, uint32_t object, struct text *text);

/** The links of the collector's lists, as its objects have them. */
void verify_links(struct verification *all);
/**
 * Which object's links are wrong, where one has a next one that does not lead back.
 * @return the address of the object: that one, or the one that it leads to.
 */
psc_addr verify_find_broken_link(struct heap *heap, psc_addr object);
/** Notes that the links of the object there are broken. */
void verify_note_link(struct verification *all, psc_addr object, uint32_t holder);
/** What the hooks for debugging put before and behind each block. */
void verify_guards(struct verification *all);

#endif
