/**
 * @file
 * Private to cython/: the machine code of a file, and what is known while it is followed.
 *
 * Addresses are the file's own (unrelocated). All bytes are foreign: they may be any.
 */
#ifndef PSC_MACHINE_STATE_H
#define PSC_MACHINE_STATE_H

#include "cython_private.h"
#include "disassembly.h"

/* ---- machine_image.c: what an ELF file's dynamic part tells ---- */

#define MACHINE_SEGMENT_LIMIT 16

struct machine_segment {
    uint64_t address;
    uint64_t size; /**< With bytes in the file. */
    uint64_t offset;
    bool executable;
    bool writable;
};

/** A place in data that the loader fills. */
struct machine_pointer {
    uint64_t address;
    uint64_t value;     /**< 0 when it is an import. */
    const char *import; /**< Or NULL. In the image. */
};

/** A function, as .eh_frame bounds it. */
struct machine_function {
    uint64_t start;
    uint64_t end;
    bool called;  /**< By some call here. */
    bool pointed; /**< Its address is in data. Neither: a fragment of another function. */
    /** Of such a fragment, a function that jumps into it or takes its address; see there. */
    uint32_t jumped_from;
    uint32_t addressed_from;
};

struct machine_image {
    const uint8_t *bytes;
    size_t size;
    struct machine_segment segments[MACHINE_SEGMENT_LIMIT];
    size_t segment_count;
    struct machine_pointer *pointers; /**< Sorted by address. */
    size_t pointer_count;
    size_t pointer_capacity;
    struct machine_function *functions; /**< Sorted by start. */
    size_t function_count;
    size_t function_capacity;
};

/** False when it is not an x86-64 shared object, has no search table of .eh_frame, or no memory. */
bool machine_image_init(struct machine_image *image, const uint8_t *bytes, size_t size);
void machine_image_deinit(struct machine_image *image);

/** The bytes at an address, and how many there are; NULL outside of all segments. */
const uint8_t *machine_bytes(const struct machine_image *image, uint64_t address, size_t *ret_size);
/** The bytes at an address when there are so many, else NULL. */
const uint8_t *machine_bytes_at(const struct machine_image *image, uint64_t address, size_t size);
/** As machine_bytes(), in memory that is not written to; NULL elsewhere. */
const uint8_t *machine_constant(const struct machine_image *image, uint64_t address,
                                size_t *ret_size);
/** A printable UTF-8 string in memory that is not written to, and not inside a function. */
const char *machine_string(const struct machine_image *image, uint64_t address);
const struct machine_pointer *machine_find_pointer(const struct machine_image *image,
                                                   uint64_t address);
struct machine_function *machine_find_function(const struct machine_image *image, uint64_t address);

/** Where a call or jump goes: to an import, or to an address here. */
struct machine_target {
    const char *import; /**< Or NULL. */
    uint64_t address;   /**< 0: not known, or an import. */
};

/** Looks through a stub of the procedure linkage table. */
struct machine_target machine_target_of(const struct machine_image *image, uint64_t address);
/** What a slot of the global offset table leads to. */
struct machine_target machine_slot_target(const struct machine_image *image, uint64_t slot);

/* ---- decode.c ---- */

/** General registers, by DWARF's numbers. */
enum machine_register {
    MACHINE_RAX,
    MACHINE_RDX,
    MACHINE_RCX,
    MACHINE_RBX,
    MACHINE_RSI,
    MACHINE_RDI,
    MACHINE_RBP,
    MACHINE_RSP,
    MACHINE_R8,
    MACHINE_R9,
    MACHINE_R10,
    MACHINE_R11,
    MACHINE_REGISTERS = INSTRUCTION_REGISTER_LIMIT
};

/** Of floating point: XMM0, where a `double` is returned, and on. */
#define MACHINE_VECTORS INSTRUCTION_REGISTER_LIMIT

struct machine_decoder;

struct machine_decoder *machine_decoder_create(void);
void machine_decoder_destroy(struct machine_decoder *decoder);
/** The instruction at an address; INSTRUCTION_BAD outside of functions. Valid until the next call.
 */
const struct instruction *machine_decode(struct machine_decoder *decoder,
                                         const struct machine_image *image, uint64_t address);

/* ---- machine_state.c: what is known of registers and memory ---- */

enum value_kind {
    VALUE_UNKNOWN,
    VALUE_CONSTANT,
    VALUE_ARGUMENT,   /**< What register `number` held at the function's entry. */
    VALUE_STACK,      /**< Where RSP was at the start, plus number. */
    VALUE_FRAME,      /**< Where RBP was at the start, plus number. */
    VALUE_ERROR,      /**< What a failed call returns: NULL or -1; see machine_failure. */
    VALUE_SUCCESS,    /**< What another call returns: neither of these. */
    VALUE_NONZERO,    /**< The exception that is set; it is none of those that are asked for. */
    VALUE_BYTE,       /**< Of a register only the lowest byte is known. */
    VALUE_THREAD,     /**< The interpreter's state of the thread, plus number. */
    VALUE_SHARED,     /**< Memory that a parallel block shares, plus number. */
    VALUE_KEPT_STACK, /**< What was at VALUE_STACK number at the start. */
    VALUE_KEPT_FRAME  /**< What was at VALUE_FRAME number. */
};

/** The number of a VALUE_ERROR, where integers are compared. */
enum machine_failure {
    MACHINE_FAILS_MINUS_ONE,
    MACHINE_FAILS_ZERO,
    MACHINE_FAILS_EITHER /**< Whichever is asked for. */
};

struct value {
    uint8_t kind; /**< enum value_kind */
    uint64_t number;
};

#define MACHINE_SLOT_LIMIT 48

struct memory_slot {
    struct value at; /**< VALUE_STACK, VALUE_FRAME or VALUE_SHARED. */
    uint8_t width;
    struct value value;
};

struct machine_state {
    uint64_t pc;
    struct value registers[MACHINE_REGISTERS];
    struct value vectors[MACHINE_VECTORS];
    struct memory_slot slots[MACHINE_SLOT_LIMIT];
    uint16_t slot_count;
    uint8_t compared_width; /**< 0: the flags are not known. */
    bool compared_real;     /**< What was compared are numbers of floating point. */
    struct value left;
    struct value right;
    uint16_t calls; /**< Calls passed that can fail. */
    uint32_t steps;
    bool tested; /**< A branch was decided by VALUE_ERROR. */
    bool caught; /**< The exception was taken. */
    bool taken;  /**< It was, and has not been set again. */
    bool keeps;  /**< What memory held at the start is told, while all that is written is known. */
    /** Where a parallel block keeps line and file of its failure, VALUE_SHARED; or VALUE_UNKNOWN.
     */
    struct value line_place;
    struct value file_place;
};

/** The lowest bytes of a number. */
static inline uint64_t machine_cut(uint64_t number, uint8_t width)
{
    return width >= 8 ? number : number & ((UINT64_C(1) << (8 * width)) - 1);
}

/** The number that the lowest bytes are, with their sign. */
static inline int64_t machine_extend(uint64_t number, uint8_t width)
{
    unsigned shift = width >= 8 || width == 0 ? 0 : 64 - 8 * (unsigned)width;
    return (int64_t)(number << shift) >> shift;
}

/** RSP and RBP are known as such, nothing else. */
void machine_state_init(struct machine_state *state, uint64_t pc);
/** A hash of all that can decide how it goes on. */
uint64_t machine_state_hash(const struct machine_state *state);
/** Executes all but calls, jumps and branches; state->pc moves to the next instruction. */
void machine_state_step(struct machine_state *state, const struct machine_image *image,
                        const struct instruction *instruction);
/** What was stored `offset` bytes above the stack pointer. */
struct value machine_state_load(const struct machine_state *state, uint64_t offset, uint8_t width);
/** What was stored at a place. */
struct value machine_state_load_at(const struct machine_state *state, struct value place,
                                   uint8_t width);
void machine_state_store_at(struct machine_state *state, struct value place, uint8_t width,
                            struct value value);
/** What a call leaves: the caller's registers are gone, RAX is `result`. */
void machine_state_return(struct machine_state *state, struct value result);
/** What a call that is over has returned, in RAX or, of a `double`, in XMM0. */
void machine_state_set_result(struct machine_state *state, struct value result);

/* ---- machine_flags.c ---- */

/** Whether a condition holds; false when that is not known. Sets state->tested. */
bool machine_state_decide(struct machine_state *state, uint8_t condition, bool *ret);

#endif
