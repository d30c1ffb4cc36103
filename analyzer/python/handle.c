#include "frames.h"
#include "runtime.h"

/* Each owner of a part of the handle, in the order in which they are made. */
static const struct {
    enum psc_status (*create)(struct python *python);
    void (*forget)(struct python *python);
    void (*destroy)(struct python *python);
} owners[] = {
    {type_flags_create, type_flags_forget, type_flags_destroy},
    {python_types_create, python_types_forget, python_types_destroy},
    {budget_create, budget_renew, budget_destroy},
    {python_codes_create, python_codes_forget, python_codes_destroy},
    {frame_reader_create, frame_reader_forget, frame_reader_destroy},
};

enum psc_status handle_init(struct python *python)
{
    enum psc_status status = PSC_OK;
    for (size_t i = 0; status == PSC_OK && i < PSC_ARRAY_SIZE(owners); i++)
        status = owners[i].create(python);
    return status;
}

void handle_forget(struct python *python)
{
    for (size_t i = 0; i < PSC_ARRAY_SIZE(owners); i++)
        owners[i].forget(python);
}

void handle_deinit(struct python *python)
{
    for (size_t i = PSC_ARRAY_SIZE(owners); i-- > 0;)
        owners[i].destroy(python);
}
