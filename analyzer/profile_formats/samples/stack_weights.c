/* What the samples of each thread and stack come to. */
#include "samples.h"

enum psc_status stack_weights_read(const struct profile *profile, struct hash_table *ret,
                                   struct psc_error *err)
{
    struct profile_reader reader;
    struct profile_sample sample;
    uint64_t count = 0;
    *ret = HASH_TABLE_OF(struct stack_weight);
    profile_start_reading(&reader, profile);
    for (; profile_next_sample(&reader, &sample); count++) {
        if (!sample_has_stack(&sample) || sample.thread >= profile->thread_count)
            continue;
        struct stack_weight *one = hash_table_find_pair(ret, sample.thread, sample.stack);
        if (!one)
            one = hash_table_add_pair(ret, sample.thread, sample.stack);
        if (!one)
            return psc_fail_memory(err);
        one->count++;
        one->weight += sample.weight;
        one->cpu += sample.cpu;
    }
    return count == profile_sample_count(profile)
               ? PSC_OK
               : psc_fail(err, PSC_ERR_IO, "the samples cannot be read back");
}

uint64_t stack_weight_measure(const struct profile *profile, const struct stack_weight *one)
{
    return profile->by_cpu ? one->cpu : one->weight;
}
