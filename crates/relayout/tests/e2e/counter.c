/*
 * Counts coherence events by line of the guest's kernel memory: first reads, later reads, write
 * transfers and upgrades. A QEMU plugin of its own, written from the definitions in
 * docs/glossary.md; it shares nothing with relayout's but the marker instructions and the option
 * skip=, which it reads from QEMU's command line.
 *
 *   cc -O2 -shared -fPIC counter.c -o libcounter.so
 *   qemu-system-x86_64 ... -plugin libcounter.so,out=FILE
 *
 * FILE gets a line "ADDRESS FIRST LATER WRITES UPGRADES" for each line with events.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CPUS 64
#define LINE 64
#define KERNEL 0xffff800000000000u
#define FIXMAP 0xffffffffff000000u
#define BUCKETS (1u << 20)

/* QEMU's plugin interface, as in its manual. */
typedef uint64_t plugin_id;
struct block;
struct insn;
typedef void (*simple_fn)(plugin_id);
typedef void (*mem_fn)(unsigned vcpu, uint32_t info, uint64_t address, void *data);
void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id, void (*)(plugin_id, struct block *));
void qemu_plugin_register_atexit_cb(plugin_id, void (*)(plugin_id, void *), void *data);
void qemu_plugin_reset(plugin_id, simple_fn);
size_t qemu_plugin_tb_n_insns(const struct block *);
struct insn *qemu_plugin_tb_get_insn(const struct block *, size_t n);
uint64_t qemu_plugin_insn_vaddr(const struct insn *);
size_t qemu_plugin_insn_data(const struct insn *, void *into, size_t bytes);
void qemu_plugin_register_vcpu_mem_cb(struct insn *, mem_fn, int flags, int rw, void *data);
void qemu_plugin_register_vcpu_insn_exec_cb(struct insn *, void (*)(unsigned, void *), int flags,
                                            void *data);
unsigned qemu_plugin_mem_size_shift(uint32_t info);
bool qemu_plugin_mem_is_store(uint32_t info);

__attribute__((visibility("default"))) int qemu_plugin_version = 4;

enum { WRITES = 2, READS_AND_WRITES = 3 };

struct line {
    uint64_t address;
    struct line *next;
    atomic_flag busy;
    bool stored;         /* by anybody, in the window */
    bool read_since;     /* by another CPU than the last that stored, since then */
    uint64_t copies;     /* CPUs with a valid copy */
    uint64_t first, later, writes, upgrades;
};

static _Atomic(struct line *) table[BUCKETS];
static atomic_bool counting;
static bool begun;
static plugin_id self;
static char out[4096];
static struct { uint64_t from, to; } skipped[64];
static size_t skipped_count;

static struct line *find(uint64_t address)
{
    _Atomic(struct line *) *bucket = &table[(address / LINE * 0x9e3779b97f4a7c15u) >> 44];
    struct line *fresh = NULL, *head = atomic_load(bucket);
    for (;;) {
        for (struct line *at = head; at; at = at->next)
            if (at->address == address) {
                free(fresh);
                return at;
            }
        if (!fresh && !(fresh = calloc(1, sizeof *fresh)))
            abort();
        fresh->address = address;
        fresh->next = head;
        if (atomic_compare_exchange_strong(bucket, &head, fresh))
            return fresh;
    }
}

static void touch(unsigned cpu, uint64_t address, bool store)
{
    struct line *line = find(address & ~(uint64_t)(LINE - 1));
    uint64_t own = (uint64_t)1 << cpu;
    while (atomic_flag_test_and_set_explicit(&line->busy, memory_order_acquire))
        ;
    bool held = line->copies & own;
    if (store) {
        if (!held && line->stored)
            line->writes++;
        else if (held && line->copies != own)
            line->upgrades++;
        line->copies = own;
        line->stored = true;
        line->read_since = false;
    } else if (!held) {
        if (line->stored && !line->read_since)
            line->first++;
        else if (line->stored)
            line->later++;
        line->read_since = line->stored;
        line->copies |= own;
    }
    atomic_flag_clear_explicit(&line->busy, memory_order_release);
}

static void on_access(unsigned cpu, uint32_t info, uint64_t address, void *data)
{
    (void)data;
    if (!atomic_load_explicit(&counting, memory_order_relaxed))
        return;
    uint64_t last = address + (1u << qemu_plugin_mem_size_shift(info)) - 1;
    if (address < KERNEL || address >= FIXMAP)
        return;
    if (cpu >= CPUS)
        abort();
    bool store = qemu_plugin_mem_is_store(info);
    touch(cpu, address, store);
    if (last / LINE != address / LINE)
        touch(cpu, last, store);
}

static void on_translate(plugin_id id, struct block *block);
static void on_exit_of_qemu(plugin_id id, void *data);

static void subscribe(plugin_id id)
{
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
    qemu_plugin_register_atexit_cb(id, on_exit_of_qemu, NULL);
}

static void begin(plugin_id id)
{
    subscribe(id);
    atomic_store(&counting, true);
}

static void on_marker(unsigned cpu, void *data)
{
    (void)cpu;
    if (data) {
        atomic_store(&counting, false);
    } else if (!begun) {
        /* Registered again, this plugin is called before those that were loaded earlier: both see
         * an access before either can make its CPU yield. */
        begun = true;
        qemu_plugin_reset(self, begin);
    }
}

/* Whether an instruction loads and stores the same memory: then its store is its only access. */
static bool is_read_write(const unsigned char *code, size_t length)
{
    size_t at = 0;
    for (; at < length; at++) {
        unsigned char byte = code[at];
        if (byte == 0xf0)
            return true;
        if (byte != 0x66 && byte != 0xf2 && byte != 0xf3 && byte != 0x2e && byte != 0x36 &&
            byte != 0x3e && byte != 0x26 && byte != 0x64 && byte != 0x65)
            break;
    }
    if (at < length && (code[at] & 0xf0) == 0x40)
        at++;
    if (at + 1 >= length)
        return false;
    unsigned op = code[at], reg = code[at + 1] >> 3 & 7;
    if (op == 0x0f && at + 2 < length) {
        reg = code[at + 2] >> 3 & 7;
        switch (code[at + 1]) {
        case 0xb0: case 0xb1: case 0xc0: case 0xc1:           /* cmpxchg, xadd */
        case 0xab: case 0xb3: case 0xbb:                      /* bts, btr, btc */
        case 0xa4: case 0xa5: case 0xac: case 0xad:           /* shld, shrd */
            return true;
        case 0xba: return reg >= 5;
        case 0xc7: return reg == 1;                           /* cmpxchg16b */
        default: return false;
        }
    }
    if (op < 0x38)
        return (op & 7) < 2;                                  /* add ... xor to memory */
    switch (op) {
    case 0x80: case 0x81: case 0x83: return reg != 7;
    case 0x86: case 0x87: return true;                        /* xchg */
    case 0xc0: case 0xc1: case 0xd0: case 0xd1: case 0xd2: case 0xd3: return true;
    case 0xf6: case 0xf7: return reg == 2 || reg == 3;        /* not, neg */
    case 0xfe: case 0xff: return reg < 2;                     /* inc, dec */
    default: return false;
    }
}

static bool is_skipped(uint64_t pc)
{
    for (size_t n = 0; n < skipped_count; n++)
        if (pc >= skipped[n].from && pc < skipped[n].to)
            return true;
    return false;
}

static void on_translate(plugin_id id, struct block *block)
{
    (void)id;
    static const unsigned char marker[] = {0x0f, 0x1f, 0x84, 0x00};
    for (size_t n = 0; n < qemu_plugin_tb_n_insns(block); n++) {
        struct insn *insn = qemu_plugin_tb_get_insn(block, n);
        uint64_t pc = qemu_plugin_insn_vaddr(insn);
        unsigned char code[16];
        size_t length = qemu_plugin_insn_data(insn, code, sizeof code);
        if (pc >= KERNEL) {
            int rw = is_read_write(code, length) ? WRITES : READS_AND_WRITES;
            if (begun && !is_skipped(pc))
                qemu_plugin_register_vcpu_mem_cb(insn, on_access, 0, rw, NULL);
        } else if (length == 8 && !memcmp(code, marker, 4) && !memcmp(code + 5, "\0LR", 3) &&
                   code[4] != 3) {
            bool stop = code[4] == 2 || code[4] == 5;
            qemu_plugin_register_vcpu_insn_exec_cb(insn, on_marker, 0, stop ? out : NULL);
        }
    }
}

static void on_exit_of_qemu(plugin_id id, void *data)
{
    (void)id, (void)data;
    FILE *file = fopen(out, "w");
    if (!file)
        abort();
    for (size_t n = 0; n < BUCKETS; n++)
        for (struct line *at = atomic_load(&table[n]); at; at = at->next)
            if (at->first | at->later | at->writes | at->upgrades)
                fprintf(file, "%" PRIx64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
                        at->address, at->first, at->later, at->writes, at->upgrades);
    fclose(file);
}

/* The code that relayout's plugin is told not to watch: skip=FROM-TO+FROM-TO... */
static void read_skipped(void)
{
    static char line[1 << 16];
    FILE *file = fopen("/proc/self/cmdline", "r");
    size_t bytes = file ? fread(line, 1, sizeof line - 1, file) : 0;
    char *at = memmem(line, bytes, ",skip=", 6);
    if (!at)
        abort();
    at += 6;
    while (skipped_count < sizeof skipped / sizeof *skipped) {
        skipped[skipped_count].from = strtoull(at, &at, 16);
        if (*at != '-')
            break;
        skipped[skipped_count++].to = strtoull(at + 1, &at, 16);
        if (*at++ != '+')
            break;
    }
    fclose(file);
}

__attribute__((visibility("default")))
int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv)
{
    (void)info;
    if (argc != 1 || strncmp(argv[0], "out=", 4) || strlen(argv[0]) >= sizeof out)
        return 1;
    strcpy(out, argv[0] + 4);
    self = id;
    read_skipped();
    subscribe(id);
    return 0;
}
