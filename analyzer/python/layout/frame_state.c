/* What the state of a frame or a generator means. */
#include "layout.h"

/* CPython 3.10 to 3.15, Include/internal/pycore_frame.h: enum _framestate. */
enum py_generator_state layout_parse_generator_state(enum py_generator_states states, int8_t number)
{
    switch (states) {
    case PY_GENERATORS_RUNNING:
        break;
    case PY_GENERATORS_FRAME:
    case PY_GENERATORS_SUSPENDED:
        return number == -2   ? PY_GENERATOR_CREATED
               : number == -1 ? PY_GENERATOR_SUSPENDED
               : number == 0  ? PY_GENERATOR_RUNNING
               : number > 0   ? PY_GENERATOR_ENDED
                              : PY_GENERATOR_UNKNOWN;
    case PY_GENERATORS_AWAITING:
        return number == -3   ? PY_GENERATOR_CREATED
               : number == -2 ? PY_GENERATOR_SUSPENDED
               : number == -1 ? PY_GENERATOR_AWAITING
               : number == 0  ? PY_GENERATOR_RUNNING
               : number > 0   ? PY_GENERATOR_ENDED
                              : PY_GENERATOR_UNKNOWN;
    case PY_GENERATORS_COUNTED:
        return number == 0                  ? PY_GENERATOR_CREATED
               : number == 1                ? PY_GENERATOR_SUSPENDED
               : number == 2 || number == 3 ? PY_GENERATOR_AWAITING
               : number == 4                ? PY_GENERATOR_RUNNING
               : number == 5                ? PY_GENERATOR_ENDED
                                            : PY_GENERATOR_UNKNOWN;
    }
    return PY_GENERATOR_UNKNOWN;
}

bool layout_is_executing(const struct py_rules *rules, uint8_t state)
{
    switch (rules->instruction) {
    case PY_INSTRUCTION_BYTES:
        return state == 1;
    case PY_INSTRUCTION_UNITS:
        return state == 0;
    case PY_INSTRUCTION_POINTER:
        break;
    }
    return false;
}
