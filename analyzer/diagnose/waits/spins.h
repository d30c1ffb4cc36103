/** @file The loop of pthread_spin_lock(), machine by machine: for two files of `diagnose/waits`. */
#ifndef PSC_SPINS_H
#define PSC_SPINS_H

#include "waits_private.h"

struct spin_machine {
    uint16_t elf_machine; /**< e_machine */
    const uint8_t
        *looping; /**< The first bytes of the instructions of the loop, and of no other. */
    size_t looping_count;
};

extern const struct spin_machine spin_x86_64;

#endif
