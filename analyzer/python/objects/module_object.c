#include "objects.h"

#define MODULE_LIMIT    (1u << 18) /* Entries of sys.modules. */
#define GLOBALS_LIMIT   4096u
#define ATTRIBUTE_LIMIT 256u

enum psc_status py_module_open(struct python *python, psc_addr interpreter, const char *name,
                               struct py_items *ret)
{
    psc_addr modules;
    psc_addr module;
    psc_addr dict;
    struct py_items items;
    enum psc_status status = py_read_u64(python, interpreter, PY_INTERP_MODULES, &modules);
    if (status == PSC_OK)
        status = py_dict_open(python, modules, &items);
    if (status == PSC_OK)
        status = py_items_find(python, &items, name, MODULE_LIMIT, &module);
    if (status == PSC_OK)
        status = py_read_u64(python, module, PY_MODULE_DICT, &dict);
    return status == PSC_OK ? py_dict_open(python, dict, ret) : status;
}

enum psc_status py_module_find(struct python *python, psc_addr interpreter, const char *module,
                               const char *name, psc_addr *ret)
{
    struct py_items items;
    enum psc_status status = py_module_open(python, interpreter, module, &items);
    return status == PSC_OK ? py_items_find(python, &items, name, GLOBALS_LIMIT, ret) : status;
}

enum psc_status py_attribute_find(struct python *python, psc_addr object, const char *name,
                                  psc_addr *ret)
{
    struct py_items items;
    enum psc_status status = py_attributes_open(python, object, &items);
    return status == PSC_OK ? py_items_find(python, &items, name, ATTRIBUTE_LIMIT, ret) : status;
}
