/* Random numbers of one mutant. */
#include "mutants.h"

static uint64_t mix(uint64_t value)
{
    // splitmix64: neighbouring numbers become unlike ones.
    value += 0x9e3779b97f4a7c15u;
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
    value = (value ^ value >> 27) * 0x94d049bb133111ebu;
    return value ^ value >> 31;
}

struct choice choice_of(uint64_t seed, uint64_t number)
{
    return (struct choice){mix(mix(seed) ^ number)};
}

uint64_t choose_bits(struct choice *choice)
{
    choice->state += 0x9e3779b97f4a7c15u;
    return mix(choice->state);
}

size_t choose_below(struct choice *choice, size_t limit)
{
    return limit ? (size_t)(choose_bits(choice) % limit) : 0;
}

bool choose_one_in(struct choice *choice, size_t count)
{
    return choose_below(choice, count) == 0;
}

uint64_t choose_number(struct choice *choice, uint64_t value)
{
    static const uint64_t ends[] = {0,
                                    1,
                                    2,
                                    7,
                                    8,
                                    0x10,
                                    0x7f,
                                    0x80,
                                    0xff,
                                    0x100,
                                    4095,
                                    4096,
                                    0x7fff,
                                    0xffff,
                                    0x10000,
                                    1000000,
                                    0x7fffffff,
                                    0x80000000,
                                    0xffffffff,
                                    0x100000000,
                                    (uint64_t)1 << 47,
                                    ((uint64_t)1 << 47) - 8,
                                    INT64_MAX,
                                    (uint64_t)1 << 63,
                                    UINT64_MAX - 7,
                                    UINT64_MAX - 1,
                                    UINT64_MAX};
    switch (choose_below(choice, 10)) {
    case 0:
        return value + 1;
    case 1:
        return value - 1;
    case 2:
        return value * 2 + 1;
    case 3:
        return 0 - value;
    case 4:
        return value ^ (uint64_t)1 << choose_below(choice, 64);
    case 5:
        return choose_bits(choice) >> choose_below(choice, 64);
    default:
        return ends[choose_below(choice, sizeof(ends) / sizeof(*ends))];
    }
}
