#include "sized_struct.h"

#include <string.h>

static enum psc_status refuse_size(const struct sized_type *type, uint32_t size,
                                   struct psc_error *err)
{
    return psc_fail(err, PSC_ERR_ARGUMENT, "%s: its size is %u; begin with %s", type->name, size,
                    type->initializer);
}

static enum psc_status read_size(const struct sized_type *type, const void *given, uint32_t *ret,
                                 struct psc_error *err)
{
    memcpy(ret, given, sizeof(*ret));
    return *ret >= sizeof(*ret) ? PSC_OK : refuse_size(type, *ret, err);
}

/* What lies behind the struct as it is known here is set by callers that know more of it. */
static enum psc_status check_unknown(const struct sized_type *type, const void *given,
                                     uint32_t size, struct psc_error *err)
{
    for (size_t i = type->size; i < size; i++)
        if (((const char *)given)[i])
            return psc_fail(err, PSC_ERR_ARGUMENT,
                            "this library, version %s, is older than the header that the program "
                            "was compiled with: %s has %u bytes there and %zu here, and something "
                            "is set that is not known here; use a library as new as the header",
                            PSC_VERSION, type->name, size, type->size);
    return PSC_OK;
}

enum psc_status sized_take(const struct sized_type *type, const void *given, void *known,
                           struct psc_error *err)
{
    uint32_t size;
    if (!given)
        return PSC_OK;
    enum psc_status status = read_size(type, given, &size, err);
    if (status == PSC_OK)
        status = check_unknown(type, given, size, err);
    if (status != PSC_OK)
        return status;
    memcpy(known, given, size < type->size ? size : type->size);
    return PSC_OK;
}

enum psc_status sized_check_items(const struct sized_type *type, const void *items, size_t count,
                                  uint32_t size, struct psc_error *err)
{
    enum psc_status status = size >= type->size ? PSC_OK : refuse_size(type, size, err);
    for (size_t i = 0; items && status == PSC_OK && i < count; i++)
        status = check_unknown(type, (const char *)items + i * size, size, err);
    return status;
}

enum psc_status sized_give(const struct sized_type *type, const void *known, void *ret,
                           struct psc_error *err)
{
    uint32_t size;
    enum psc_status status = read_size(type, ret, &size, err);
    if (status != PSC_OK)
        return status;
    memset(ret, 0, size);
    memcpy(ret, known, size < type->size ? size : type->size);
    memcpy(ret, &size, sizeof(size));
    return PSC_OK;
}
