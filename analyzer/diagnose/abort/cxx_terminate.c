/* The exception with which C++ called std::terminate(). */
#include "abort_private.h"

#include <string.h>

/* libstdc++'s unwind-cxx.h: struct __cxa_exception ends where the object begins. */
#define EXCEPTION_CLASS  80
#define EXCEPTION_OBJECT 112
#define CLASS_GNU        UINT64_C(0x474e5543432b2b00) /* "GNUCC++\0" */
#define CLASS_DEPENDENT  UINT64_C(1) /* In its low byte: of std::rethrow_exception(). */
/* struct __cxa_eh_globals */
#define GLOBALS_CAUGHT   0
#define GLOBALS_UNCAUGHT 8
/* The third function of std::exception's vtable, behind two destructors. */
#define VTABLE_WHAT 16

/*
 * Functions that std::terminate() calls, itself, and those of libsupc++ that call it: a stripped
 * libstdc++ names those that it exports. The personality routine calls nothing else that aborts: it
 * has found that an exception would leave a noexcept function.
 */
static const char *const terminates[] = {"_ZSt9terminatev", "_ZN10__cxxabiv111__terminateEPFvvE",
                                         "_ZN9__gnu_cxx27__verbose_terminate_handlerEv",
                                         "__cxa_call_terminate", "__gxx_personality_v0"};

/*
 * What compilers put into the tables of virtual functions where there is no function: libsupc++'s
 * pure.cc, whose functions call std::terminate(); libc++abi's cxa_virtual.cpp, whose functions call
 * abort() by a function that is not exported (abort_message.cpp).
 */
struct missing_method {
    const char *symbol;
    const char *terminated;
    const char *aborted;
};

static const struct missing_method missing_methods[] = {
    {"__cxa_pure_virtual", "C++ std::terminate(): a pure virtual method was called",
     "a pure virtual method of C++ was called"},
    {"__cxa_deleted_virtual", "C++ std::terminate(): a deleted virtual method was called",
     "a deleted virtual method of C++ was called"},
};

struct thrown {
    struct cxx_type type;
    psc_addr object;
};

/* 0: none is in hand. False: it is not known. */
static bool read_caught(const struct abort_stack *stack, struct module *library, psc_addr *ret)
{
    struct module_symbol function;
    psc_addr globals;
    uint32_t uncaught;
    return module_find_symbol_named(library, "__cxa_get_globals", &function) &&
           followed_code_call(stack, function.address, 0, &globals) &&
           target_read_pointer(stack->input->target, globals + GLOBALS_CAUGHT, ret) == PSC_OK &&
           target_read_u32(stack->input->target, globals + GLOBALS_UNCAUGHT, &uncaught) == PSC_OK &&
           !(uncaught && !*ret);
}

/* False: another language's, or none of libstdc++'s. */
static bool read_thrown(const struct abort_stack *stack, psc_addr exception, struct thrown *ret)
{
    struct target *target = stack->input->target;
    psc_addr info;
    uint64_t class;
    if (target_read_u64(target, exception + EXCEPTION_CLASS, &class) != PSC_OK ||
        (class & ~CLASS_DEPENDENT) != CLASS_GNU)
        return false;
    ret->object = exception + EXCEPTION_OBJECT;
    if (class & CLASS_DEPENDENT && target_read_pointer(target, exception, &ret->object) != PSC_OK)
        return false;
    return target_read_pointer(target, ret->object - EXCEPTION_OBJECT, &info) == PSC_OK &&
           cxx_type_read(stack, info, &ret->type);
}

/* What std::exception::what() returns. */
static bool read_what(const struct abort_stack *stack, const struct thrown *thrown,
                      const char **ret)
{
    struct target *target = stack->input->target;
    psc_addr object, vtable, function, text;
    return cxx_type_find_base(stack, &thrown->type, thrown->object, "St9exception", &object) &&
           target_read_pointer(target, object, &vtable) == PSC_OK &&
           target_read_pointer(target, vtable + VTABLE_WHAT, &function) == PSC_OK &&
           followed_code_call(stack, function, object, &text) && abort_read_text(stack, text, ret);
}

/* Of an object that is no exception: its value, where that is a text or a number. */
static bool read_value(const struct abort_stack *stack, const struct thrown *thrown,
                       const char **ret)
{
    struct target *target = stack->input->target;
    const char *name = thrown->type.name;
    psc_addr text;
    uint64_t size;
    int32_t number;
    *ret = NULL;
    if (!strcmp(name, "i") && target_read(target, thrown->object, &number, 4) == PSC_OK)
        *ret = arena_printf(stack->input->arena, "%d", number);
    if (*ret)
        return true;
    if (target_read_pointer(target, thrown->object, &text) != PSC_OK)
        return false;
    if (!strcmp(name, "PKc") || !strcmp(name, "Pc"))
        return abort_read_text(stack, text, ret);
    // std::string: pointer, length (libstdc++, bits/basic_string.h).
    return !strcmp(name, "NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE") &&
           target_read_u64(target, thrown->object + 8, &size) == PSC_OK &&
           abort_read_sized_text(stack, text, size, ret);
}

static const struct missing_method *find_method_at(const struct abort_stack *stack, size_t frame)
{
    for (size_t i = 0; i < PSC_ARRAY_SIZE(missing_methods); i++)
        if (abort_stack_find(stack, frame, &missing_methods[i].symbol, 1) == frame)
            return frame < stack->count ? &missing_methods[i] : NULL;
    return NULL;
}

/* Whose call std::terminate() is: the frame behind the last of its own. */
static const struct missing_method *find_missing_method(const struct abort_stack *stack,
                                                        size_t frame)
{
    while (abort_stack_find(stack, frame, terminates, PSC_ARRAY_SIZE(terminates)) == frame &&
           frame < stack->count)
        frame++;
    return find_method_at(stack, frame);
}

/* libc++abi's: abort(), a function of its own, and the one that was called. */
enum psc_status cxx_missing_method_read(const struct abort_stack *stack, struct abort_finding *ret)
{
    size_t frame = stack->aborts + 2;
    const struct missing_method *method = find_method_at(stack, frame);
    if (!method || stack->frames[frame - 1].module != stack->frames[frame].module)
        return PSC_OK;
    ret->cause = TRACE_CAUSE_OTHER;
    ret->words = method->aborted;
    return PSC_OK;
}

enum psc_status cxx_terminate_read(const struct abort_stack *stack, struct abort_finding *ret)
{
    size_t frame =
        abort_stack_find(stack, stack->aborts + 1, terminates, PSC_ARRAY_SIZE(terminates));
    psc_addr exception;
    struct thrown thrown;
    const char *text;
    if (frame == stack->count)
        return PSC_OK;
    ret->cause = TRACE_CAUSE_TERMINATE;
    ret->words = "C++ std::terminate()";
    // An exception that is in hand then is not why.
    const struct missing_method *method = find_missing_method(stack, frame);
    if (method) {
        ret->words = method->terminated;
        return PSC_OK;
    }
    if (!read_caught(stack, stack->frames[frame].module, &exception))
        return PSC_OK;
    if (!exception) {
        ret->words = "C++ std::terminate(), without an active exception";
        return PSC_OK;
    }
    if (!read_thrown(stack, exception, &thrown)) {
        ret->words = "C++ std::terminate(), with an exception of another language or library";
        return PSC_OK;
    }
    const char *title = cxx_type_title(stack, &thrown.type);
    if (read_what(stack, &thrown, &text) || read_value(stack, &thrown, &text))
        ret->message = arena_printf(stack->input->arena, "%s: %s", title, text);
    else
        ret->message = title;
    return PSC_OK;
}
