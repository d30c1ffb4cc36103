/**
 * @file
 * Numbers of CPython's headers and sources that are the same in every version that has them.
 */
#ifndef PSC_PYTHON_CONSTANTS_H
#define PSC_PYTHON_CONSTANTS_H

#include <stdint.h>

/* Include/object.h, struct _object: ob_refcnt, ob_type; Py_TRACE_REFS up to 3.12 puts two pointers
   before them. */
enum { PY_HEADER_PLAIN = 16, PY_HEADER_TRACED = 32, PY_HEADER_TRACED_TYPE = 24 };
/** From ob_type back to the count of references. */
#define PY_REFCNT_BEFORE_TYPE 8u

/* Include/cpython/object.h, struct _typeobject: from tp_flags to tp_dealloc and tp_traverse; the
   same in 2.7 to 3.15. */
#define PY_DEALLOC_BEFORE_FLAGS  120u
#define PY_TRAVERSE_BEHIND_FLAGS 16u

/* Include/object.h, tp_flags; in 2.7 INT is long, BYTES is str, and STR is unicode. */
#define PY_FLAG_INLINE_VALUES (UINT64_C(1) << 2)
#define PY_FLAG_MANAGED_DICT  (UINT64_C(1) << 4)
#define PY_FLAG_HEAPTYPE      (UINT64_C(1) << 9)
#define PY_FLAG_PLAIN_INT     (UINT64_C(1) << 23) /* 2.7 only; later something else. */
#define PY_FLAG_INT           (UINT64_C(1) << 24)
#define PY_FLAG_LIST          (UINT64_C(1) << 25)
#define PY_FLAG_TUPLE         (UINT64_C(1) << 26)
#define PY_FLAG_BYTES         (UINT64_C(1) << 27)
#define PY_FLAG_STR           (UINT64_C(1) << 28)
#define PY_FLAG_DICT          (UINT64_C(1) << 29)
#define PY_FLAG_EXCEPTION     (UINT64_C(1) << 30)
#define PY_FLAG_TYPE          (UINT64_C(1) << 31)

/* Include/code.h, co_flags; the generators are: generator, coroutine, iterable coroutine, async
   generator. OPTIMIZED: names are in slots, not in a dict. */
#define PY_CODE_OPTIMIZED  UINT32_C(0x1)
#define PY_CODE_VARARGS    UINT32_C(0x4)
#define PY_CODE_VARKW      UINT32_C(0x8)
#define PY_CODE_COROUTINE  UINT32_C(0x80)
#define PY_CODE_GENERATORS UINT32_C(0x3a0)

/* Up to 3.10, Include/frameobject.h: PyTryBlock {int b_type, b_handler, b_level}. */
#define PY_BLOCK_SIZE  12u
#define PY_BLOCK_LEVEL 8u
#define PY_BLOCK_COUNT 20u /* CO_MAXBLOCKS */

/** Bytes of an instruction and its argument, from 3.6 on. */
#define PY_CODE_UNIT 2u

/** Up to 3.10, Include/opcode.h; from 3.11 on RESUME has 2 and 3 for yield from and await. */
#define PY_OPCODE_YIELD_FROM 72u
#define PY_RESUME_YIELD_FROM 2u

/** 3.14, Include/internal/pycore_code.h, _PyCodeArray: pointers behind their number. */
#define PY_CODE_COPIES_FIRST 8u

/* 3.12, Include/internal/pycore_frame.h: from the second on frame owners mean a shim. */
#define PY_OWNER_GENERATOR  1u
#define PY_OWNER_FIRST_SHIM 3u

/* 3.11, Include/internal/pycore_code.h: co_localspluskinds. */
#define PY_SLOT_CELL 0x40u
#define PY_SLOT_FREE 0x80u

/* Include/longintrepr.h; 3.12, Include/internal/pycore_long.h: lv_tag. */
#define PY_INT_DIGIT_BITS   30u
#define PY_INT_TAG_SIGN     3u
#define PY_INT_TAG_ZERO     1u
#define PY_INT_TAG_NEGATIVE 2u
#define PY_INT_TAG_SHIFT    3u

/* Include/cpython/unicodeobject.h: the str state from layout.string_kind_shift on. */
#define PY_STR_KIND    7u
#define PY_STR_COMPACT 8u
#define PY_STR_ASCII   16u

/* 3.14, Include/internal/pycore_stackref.h: a small int in place; the bits above are the number. */
#define PY_TAG_INT       3u
#define PY_TAG_INT_SHIFT 2u

/* Objects/dict-common.h, Include/internal/pycore_dict.h: entries of (hash, key, value); where all
   keys are str (PyDictUnicodeEntry), of (key, value). dk_kind is 0 for the former. */
enum {
    PY_ENTRY_SIZE = 24,
    PY_ENTRY_KEY = 8,
    PY_ENTRY_VALUE = 16,
    PY_STR_ENTRY_SIZE = 16,
    PY_STR_ENTRY_KEY = 0,
    PY_STR_ENTRY_VALUE = 8,
    PY_KEYS_KIND_LAST = 2
};

/** 3.13, struct _dictvalues: capacity, size, embedded, valid, a byte each. */
#define PY_INLINE_VALUES_VALID 3u
/** 3.11: the pointer to the values lies so far before the one to the dict. */
#define PY_VALUES_BEFORE_DICT 8u
/** 3.12: one word for both, with this bit where it points to values. */
#define PY_VALUES_TAG 1u

/** Include/setobject.h, setentry: key and hash. */
#define PY_SET_ENTRY_SIZE 16u
/** The hash of what was taken out of a set; no key has it. */
#define PY_SET_FREED_HASH UINT64_MAX

/* 3.8, Include/internal/pycore_gc.h: low bits of a link say what the collector is doing with the
   object. */
#define PY_GC_LINK_FLAGS       UINT64_C(3)
#define PY_GC_GENERATION_COUNT 3u
/** From a PyGC_Head, _gc_next, to _gc_prev. */
#define PY_GC_PREVIOUS 8u

/* Include/descrobject.h: T_OBJECT and T_OBJECT_EX, a pointer to an object. */
#define PY_MEMBER_OBJECT    6
#define PY_MEMBER_OBJECT_EX 16

/** Include/descrobject.h, 3.12 Include/structmember.h: PyMemberDef, whose first is its name. */
#define PY_MEMBERDEF_SIZE 40u

/* Modules/_io/fileio.c, struct fileio: bits of the byte behind the descriptor. */
#define PY_FILEIO_BITS_BEHIND_FD 4u
#define PY_FILEIO_CREATED        1u
#define PY_FILEIO_READABLE       2u
#define PY_FILEIO_WRITABLE       4u
#define PY_FILEIO_APPENDING      8u
#define PY_FILEIO_CLOSES         64u

/** Include/object.h, PyBUF_MAX_NDIM. */
#define PY_BUFFER_DIMENSIONS 64u
/** Objects/memoryobject.c, _Py_MEMORYVIEW_RELEASED. */
#define PY_MEMORYVIEW_RELEASED 1

/* Modules/_sre/sre_constants.h: flags of a pattern. */
#define PY_RE_TEMPLATE   1u
#define PY_RE_IGNORECASE 2u
#define PY_RE_LOCALE     4u
#define PY_RE_MULTILINE  8u
#define PY_RE_DOTALL     16u
#define PY_RE_UNICODE    32u
#define PY_RE_VERBOSE    64u
#define PY_RE_DEBUG      128u
#define PY_RE_ASCII      256u

/* Modules/_decimal/libmpdec/mpdecimal.h: flags; words hold 19 decimal digits each. */
#define PY_DECIMAL_NEGATIVE    1u
#define PY_DECIMAL_INFINITE    2u
#define PY_DECIMAL_NAN         4u
#define PY_DECIMAL_SIGNALLING  8u
#define PY_DECIMAL_WORD        UINT64_C(10000000000000000000)
#define PY_DECIMAL_WORD_DIGITS 19u

/* Include/datetime.h: year (2), month, day; hour, minute, second, microsecond (3); big-endian. */
enum { PY_DATE_BYTES = 4, PY_TIME_BYTES = 6 };

/** Objects/genobject.c, AwaitableState: a step of an async generator that was never sent to. */
#define PY_STEP_NEW 0

/*
 * Include/internal/pycore_gil.h, struct _gil_runtime_state, from last_holder on: locked,
 * switch_number, then the two conditions and their mutexes, in which its waiters sleep.
 */
#define PY_GIL_WAITS_BEHIND_HOLDER 24u
#define PY_GIL_WAITS_SIZE          176u

/*
 * 3.13, Python/parking_lot.c, struct wait_entry: the address that a thread is parked on lies
 * before the semaphore that it sleeps on, which is on its own stack.
 */
#define PY_PARK_KEY_BEFORE_SEMAPHORE 8u
/**
 * Of the same: what the waker is to fill in, which PyMutex alone has (Python/lock.c), on the
 * waiter's stack.
 */
#define PY_PARK_ARGUMENT_BEFORE_SEMAPHORE 16u
/** 3.13, Python/lock.c: a PyEvent that is waited for; a PyMutex or _PyOnceFlag is locked, too. */
#define PY_PARKED_EVENT 2

/* 3.13, Include/internal/pycore_pystate.h: how a thread state is attached. */
#define PY_STATE_ATTACHED  1u
#define PY_STATE_SUSPENDED 2u

/*
 * 3.13, Include/cpython/critical_section.h (Include/internal/ in 3.13): two bits of the pointer,
 * then PyCriticalSection: the one before it, its mutex, in PyCriticalSection2 a second one.
 */
#define PY_SECTION_INACTIVE 1u
#define PY_SECTION_TWO      2u
#define PY_SECTION_MASK     3u
enum { PY_SECTION_BEFORE, PY_SECTION_MUTEX, PY_SECTION_SECOND, PY_SECTION_WORDS };

/**
 * 3.13, Include/internal/pycore_interp.h (3.14: pycore_interp_structs.h), struct
 * _stoptheworld_state: a mutex, three flags, an event, a count of threads, who stops them.
 */
enum {
    PY_WORLD_MUTEX,
    PY_WORLD_REQUESTED,
    PY_WORLD_STOPPED,
    PY_WORLD_GLOBAL,
    PY_WORLD_EVENT,
    PY_WORLD_COUNT = 8,
    PY_WORLD_REQUESTER = 16,
    PY_WORLD_SIZE = 24
};
/** Fewer threads than that are stopped. */
#define PY_WORLD_THREADS (1u << 20)
/** It lies within that many bytes of _PyRuntime and of each interpreter. */
#define PY_WORLD_REACH ((size_t)64 << 10)

/** 3.13, Include/object.h, of a free-threaded object: from its mutex to ob_type. */
#define PY_OBJECT_TYPE_BEHIND_MUTEX 14u

/** 3.13, Modules/_threadmodule.c, ThreadHandle: from its identifier to thread_is_exiting. */
#define PY_HANDLE_EVENT_BEHIND_IDENT 25u

/* 3.13, Include/internal/pycore_lock.h, _PyRecursiveMutex: behind its PyMutex; the level is small.
 */
#define PY_RECURSIVE_MUTEX_THREAD 8u
#define PY_RECURSIVE_MUTEX_LEVEL  16u
#define PY_RECURSIVE_MUTEX_MOST   10000u

/* Modules/_io/bufferedio.c, struct buffered: behind the header. */
#define PY_BUFFERED_LOCK  88u
#define PY_BUFFERED_OWNER 96u

/* Modules/_multiprocessing/semaphore.c, SemLockObject, behind the header and its handle. */
#define PY_SEMLOCK_OWNER     8u
#define PY_SEMLOCK_COUNT     16u
#define PY_SEMLOCK_MAX       20u
#define PY_SEMLOCK_KIND      24u
#define PY_SEMLOCK_RECURSIVE 0

/** Modules/_asynciomodule.c, STATE_PENDING. */
#define PY_FUTURE_PENDING 0

#endif
