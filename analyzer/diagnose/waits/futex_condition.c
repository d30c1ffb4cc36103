/* Which condition a thread sleeps in: the place of its futex differs from one glibc to the other.
 */
#include "waits_private.h"

/*
 * __g_signals, two words of which one is slept on (sysdeps/nptl/bits/thread-shared-types.h): at 40,
 * and at 32 from 2.41 on, which distributions have in earlier ones, too. Its alignment is 8.
 */
#define SIGNALS_OF_OLD 40u
#define SIGNALS_OF_NEW 32u
#define ALIGNMENT      8u
/* include/uapi/linux/futex.h: FUTEX_WAIT_BITSET, which conditions sleep with. */
#define FUTEX_COMMAND 0x7fu
#define FUTEX_BITSET  9u
/* Of the stack, from its top: the frames of pthread_cond_wait() and of what it calls. */
#define LOOKED_AT 512u

psc_addr waits_find_condition(struct target *target, const struct target_registers *registers,
                              const struct wait_facts *facts)
{
    psc_addr futex = facts->arguments[0] & ~(psc_addr)(ALIGNMENT - 1);
    psc_addr sp = target_sp(target, registers);
    uint8_t bytes[LOOKED_AT];
    bool is_new = false;
    if ((facts->arguments[1] & FUTEX_COMMAND) != FUTEX_BITSET)
        return 0;
    // musl sleeps on its own stack.
    if (futex >= sp && futex < target_find_stack_end(target, sp, facts->thread_pointer))
        return 0;
    size_t size = target_read_some(target, sp, bytes, sizeof(bytes));
    size_t words = size / 8;
    for (size_t i = 0; i < words + TARGET_REGISTER_LIMIT; i++) {
        psc_addr word = i < words ? load_u64(bytes + 8 * i) : registers->value[i - words];
        // The first is no part of a new one, but the second may be a member of an old one.
        if (word == futex - SIGNALS_OF_OLD)
            return word;
        is_new |= word == futex - SIGNALS_OF_NEW;
    }
    return is_new ? futex - SIGNALS_OF_NEW : 0;
}
