/*
 * A kernel in miniature, linked where a kernel's image is: structs with the members that are
 * followed, and memory in which they point to each other as a kernel's do. Its direct map is the
 * mapping of the image, so that page n is at 0xffffffff80000000 + 4096 * n.
 *
 * Kernels differ in form. Without a definition the forms are those of 6.1; INVERTED_BITS has the
 * page types of 6.11; TYPED_VALUES those of 6.12, and areas of vmalloc space by node; MASKS the
 * compound pages, per-cpu addresses and names of files of 7.x.
 */
typedef unsigned long word;

struct list_head { struct list_head *next, *prev; };
struct hlist_node { struct hlist_node *next, **pprev; };
struct hlist_head { struct hlist_node *first; };

#define ALONE(name) { &(name), &(name) }

/* Pages. */

#if defined(TYPED_VALUES)
enum pageflags { PG_locked, PG_reserved = 12 };
enum pagetype { PGTY_buddy = 0xf0, PGTY_table = 0xf2, PGTY_slab = 0xf5 };
#define SLAB .page_type = (PGTY_slab << 24) + 7
#define TABLE ((unsigned)PGTY_table << 24)
#define BUDDY ((unsigned)PGTY_buddy << 24)
enum pagetype unused_pagetype;
#elif defined(INVERTED_BITS)
enum pageflags { PG_locked, PG_reserved = 12 };
enum pagetype { PG_buddy = 0x40000000, PG_table = 0x10000000, PG_slab = 0x02000000 };
#define SLAB .page_type = ~PG_slab
#define TABLE (~PG_table)
#define BUDDY (~PG_buddy)
enum pagetype unused_pagetype;
#else
enum pageflags { PG_locked, PG_slab = 9, PG_reserved = 12 };
#define SLAB .flags = 1 << PG_slab, .page_type = ORDINARY
#define TABLE (~0x200u)
#define BUDDY (~0x80u)
#endif
enum pageflags unused_pageflags;

#ifdef MASKS
#define TAIL(head) .compound_info = -2 * sizeof(struct page) + 1
#define CACHE(cache) .compound_info = (word)&cache
#else
#define TAIL(head) .compound_head = (word)&pages[head] + 1, .compound_order = 1
#define CACHE(cache) .mapping = &cache
#endif

struct page {
	word flags;
	union {
		struct { struct list_head lru; void *mapping; word index; };
#ifdef MASKS
		word compound_info;
#else
		struct { word compound_head; unsigned char compound_dtor, compound_order; };
#endif
	};
	unsigned page_type;
	int _refcount;
} __attribute__((aligned(64)));

struct kmem_cache {
	unsigned size, object_size;
	const char *name;
	unsigned red_left_pad;
};

/* Overlays a struct page. */
#ifdef MASKS
struct slab { word flags; struct kmem_cache *slab_cache; } unused_slab;
struct folio { struct page page; word _flags_1; } unused_folio;
#else
struct slab { word flags; struct list_head list; struct kmem_cache *slab_cache; } unused_slab;
#endif

struct kmem_cache task_cache = { 192, 136, "task_cache", 8 };
struct task_slot { word first; struct { word second, rest[15]; } uses; } unused_slot;

/* Files. */

struct file_system_type { int flags; const char *name; };
struct super_block { word dev; struct file_system_type *s_type; };
struct qstr { word hash; const char *name; };
struct dentry {
	unsigned flags;
	struct dentry *d_parent;
	struct qstr d_name;
#ifdef MASKS
	struct hlist_node d_alias;
#define ALIAS d_alias
#else
	union { struct hlist_node d_alias; word bits; } d_u;
#define ALIAS d_u.d_alias
#endif
};
struct inode {
	unsigned short mode;
	struct super_block *i_sb;
	word i_ino;
	struct hlist_head i_dentry;
};
struct address_space { struct inode *host; word pages; };

struct file_system_type tmpfs = { 0, "tmpfs" };
struct super_block system_block = { 1, &tmpfs };
struct dentry root = { 0, &root, { 0, "/" } };
struct dentry folder = { 0, &root, { 0, "data" } };
struct dentry entry = { 0, &folder, { 0, "copy.0" } };
struct inode copied = { 0, &system_block, 7, { &entry.ALIAS } };
struct inode removed = { 0, &system_block, 8, { 0 } };
struct address_space copied_pages = { &copied }, removed_pages = { &removed }, broken_pages;

#define ORDINARY 0xffffffff

struct page pages[64] __attribute__((aligned(4096))) = {
	[40] = { SLAB, CACHE(task_cache) },
	[41] = { .flags = 1, TAIL(40) },
	[42] = { .page_type = TABLE },
	[43] = { .page_type = BUDDY },
	[44] = { .mapping = &copied_pages, .page_type = ORDINARY },
	[45] = { .mapping = &copied_pages, .page_type = 0 },
	[46] = { .mapping = &removed_pages, .page_type = ORDINARY },
	[47] = { .mapping = (void *)&broken_pages, .page_type = ORDINARY },
	[48] = { .mapping = (char *)&copied_pages + 1, .page_type = ORDINARY },
	[49] = { .flags = 1 << PG_reserved, .page_type = ORDINARY },
	[50] = { .page_type = ORDINARY },
	/* Two pages of one file, the second described by the first. */
	[52] = { .mapping = &copied_pages, .page_type = ORDINARY },
	[53] = { .flags = 1, TAIL(52) },
	/* Two filled buffers of a pipe, a spare page, and one that the pipe had before. */
	[55] = { .page_type = ORDINARY },
	[56] = { .page_type = ORDINARY },
	[57] = { .page_type = ORDINARY },
	[58] = { .page_type = ORDINARY },
};
word page_offset_base = 0xffffffff80000000;
struct page *vmemmap_base = pages;

/* Pipes: one without pages, and one whose second buffer has a page of a file. */

struct pipe_buffer { struct page *page; unsigned offset, len; const void *ops; };
struct anon_pipe_prealloc { struct page *pages[8]; unsigned count; };
struct pipe_inode_info {
	word mutex;
#ifdef MASKS
	union { word head_tail; struct { unsigned head, tail; }; };
	unsigned max_usage, ring_size;
	struct anon_pipe_prealloc prealloc;
#else
	unsigned head, tail, max_usage, ring_size;
#ifdef TYPED_VALUES
	struct page *tmp_page[2];
#else
	struct page *tmp_page;
#endif
#endif
	struct pipe_buffer *bufs;
};
/* The numbers of buffers wrap around: 3 and 0 are filled, 1 and 2 are not. */
struct pipe_buffer buffers[4] = {
	{ &pages[56] }, { &pages[58] }, { &pages[58] }, { &pages[55] }
};
struct pipe_buffer spliced_buffers[1] = { { &pages[44] } };
struct pipe_inode_info filled_pipe = { .head = 1, .tail = -1, .ring_size = 4, .bufs = buffers,
#if defined(MASKS)
	/* The second one is in use no more. */
	.prealloc = { { &pages[57], &pages[58] }, 1 } };
#elif defined(TYPED_VALUES)
	.tmp_page = { 0, &pages[57] } };
#else
	.tmp_page = &pages[57] };
#endif
struct pipe_buffer stale_buffers[1] = { { &pages[58] } };
struct pipe_inode_info stale_pipe = { .head = 1, .tail = 0, .ring_size = 1, .bufs = stale_buffers };
struct pipe_inode_info spliced_pipe = { .head = 1, .tail = 0, .ring_size = 1, .bufs = spliced_buffers };
struct file_operations { void *open; };
struct file { word f_count; const struct file_operations *f_op; void *private_data; };
struct fdtable { unsigned max_fds; struct file **fd; };
struct files_struct { word count; struct fdtable *fdt, fdtab; };
const struct file_operations pipefifo_fops = { 0 }, other_fops = { 0 };
#ifdef MASKS
const struct file_operations pipeanon_fops = { 0 };
#else
#define pipeanon_fops pipefifo_fops
#endif
struct file pipe_files[3] = {
	{ 1, &pipefifo_fops, &spliced_pipe },
	{ 1, &pipeanon_fops, &filled_pipe },
	/* No pipe, so what it has is none either. */
	{ 1, &other_fops, &stale_pipe },
};
struct file *open_files[5] = { &pipe_files[2], 0, &pipe_files[0], &pipe_files[1], &pipe_files[1] };
struct files_struct worker_files = { 1, &worker_files.fdtab, { 5, open_files } };

/* Per-cpu memory: two CPUs, static data of 0x800 bytes, and two chunks. */

struct pcpu_block_md { int hint, nr_bits; };
struct pcpu_chunk {
	int free;
	struct list_head list;
	void *base_addr;
	int start_offset, nr_pages;
	struct pcpu_block_md chunk_md;
	word *alloc_map;
};

#define CHUNKS 0xffffffff90000000
#ifdef MASKS
#define START 0xffffffff8003f000
#else
#define START 0
#endif
word __per_cpu_offset[2] = { CHUNKS - START, CHUNKS + 0x4000 - START };
word unit_offsets[2] = { 0, 0x4000 };
word *pcpu_unit_offsets = unit_offsets;
int pcpu_unit_size = 0x4000;
extern struct list_head chunk_lists[2];
struct pcpu_chunk first_chunk = { 0, ALONE(first_chunk.list), (void *)CHUNKS, 0x800, 2,
	{ 0, 0x600 }, (word *)(0xffffffff80000000 + 54 * 4096) };
struct pcpu_chunk other_chunk = {
	0, { &chunk_lists[1], &chunk_lists[1] }, (void *)(CHUNKS + 0x10000), 0, 4
};
struct pcpu_chunk *pcpu_first_chunk = &first_chunk, *pcpu_reserved_chunk;
struct list_head chunk_lists[2] = {
	ALONE(chunk_lists[0]), { &other_chunk.list, &other_chunk.list }
};
struct list_head *pcpu_chunk_lists = chunk_lists;
int pcpu_nr_slots = 2;
#define TEXT(text) #text
#define PER_CPU(start) \
	".globl __per_cpu_start, __per_cpu_end\n__per_cpu_start = " TEXT(start) \
	"\n__per_cpu_end = " TEXT(start) " + 0x800\n"
__asm__(PER_CPU(START));

/* vmalloc space: a stack that is kept for reuse, a table, and one that nobody touched. */

struct vm_struct { void *addr; const void *caller; };
struct vmap_area { word va_start, va_end; struct list_head list; struct vm_struct *vm; };

void dup_task_struct(void) { }
void alloc_table(void) { }

#define VMALLOC 0xffffc90000000000
#ifdef TYPED_VALUES
struct rb_list { word root; struct list_head head; };
struct vmap_node { word pool; struct rb_list busy; };
extern struct vmap_node nodes[2];
#define FIRST nodes[0].busy.head
#define SECOND nodes[1].busy.head
#else
extern struct list_head vmap_area_list;
#define FIRST vmap_area_list
#define SECOND vmap_area_list
#endif
extern struct vmap_area areas[3];
struct vm_struct stack_area = { 0, dup_task_struct }, table_area = { 0, alloc_table };
#ifdef TYPED_VALUES
#define AFTER_TABLE &FIRST
#define BEFORE_LAST &SECOND
#else
#define AFTER_TABLE &areas[2].list
#define BEFORE_LAST &areas[1].list
#endif
struct vmap_area areas[3] = {
	{ VMALLOC, VMALLOC + 0x5000, { &areas[1].list, &FIRST }, &stack_area },
	{ VMALLOC + 0x8000, VMALLOC + 0xb000, { AFTER_TABLE, &areas[0].list }, &table_area },
	{ VMALLOC + 0x10000, VMALLOC + 0x12000, { &SECOND, BEFORE_LAST }, &table_area },
};
#ifdef TYPED_VALUES
struct vmap_node nodes[2] = {
	{ 0, { 0, { &areas[0].list, &areas[1].list } } },
	{ 0, { 0, { &areas[2].list, &areas[2].list } } },
};
struct vmap_node *vmap_nodes = nodes;
int nr_vmap_nodes = 2;
#else
struct list_head vmap_area_list = { &areas[0].list, &areas[2].list };
#endif
word vmalloc_base = VMALLOC;

/* Two tasks. */

union thread_union { char stack[0x4000]; };
union thread_union *unused_stack;
struct signal_struct { int nr; struct list_head thread_head; };
struct task_struct {
	void *stack;
	struct list_head tasks;
	int pid;
	struct list_head thread_node;
	struct signal_struct *signal;
	struct files_struct *files;
	char comm[16];
};
extern struct task_struct init_task, worker;
struct signal_struct init_signals = { 1, { &init_task.thread_node, &init_task.thread_node } };
struct signal_struct worker_signals = { 1, { &worker.thread_node, &worker.thread_node } };
struct task_struct init_task = {
	(void *)0xffffffff80010000, { &worker.tasks, &worker.tasks }, 0,
	{ &init_signals.thread_head, &init_signals.thread_head }, &init_signals, 0, "swapper"
};
struct task_struct worker = {
	(void *)0xffffffff80014000, { &init_task.tasks, &init_task.tasks }, 17,
	{ &worker_signals.thread_head, &worker_signals.thread_head }, &worker_signals, &worker_files, "worker"
};

/* Two modules, of which the second has no description of its sections. */

struct attribute { const char *name; int mode; };
#ifdef MASKS
struct bin_attribute { struct attribute attr; word size; const void *private; };
struct attribute_group { const char *name; word bits; struct bin_attribute *const *bin_attrs; };
struct module_sect_attrs { struct attribute_group grp; struct bin_attribute attrs[2]; };
#define SECTION(name, address) { { name, 0400 }, 0, (const void *)(address) }
#define ATTRIBUTE(n) &module_sections.attrs[n]
#else
struct bin_attribute { struct attribute attr; word size; };
struct attribute_group { const char *name; struct bin_attribute **bin_attrs; };
struct module_sect_attr { struct bin_attribute battr; word address; };
struct module_sect_attrs { struct attribute_group grp; int nsections; struct module_sect_attr attrs[2]; };
#define SECTION(name, address) { { { name, 0400 }, 0 }, (word)(address) }
#define ATTRIBUTE(n) &module_sections.attrs[n].battr
#endif
struct module {
	int state;
	struct list_head list;
	char name[56];
	struct module_sect_attrs *sect_attrs;
	void *percpu;
	unsigned percpu_size;
};
const unsigned module_note[9] = { 4, 20, 3, 0x554e47, 0x04030201, 5, 6, 7, 8 };
extern struct module_sect_attrs module_sections;
struct bin_attribute *module_attributes[3] = { ATTRIBUTE(0), ATTRIBUTE(1) };
struct module_sect_attrs module_sections = {
	.grp = { .bin_attrs = module_attributes },
	.attrs = { SECTION(".note.gnu.build-id", module_note), SECTION(".text", 0xffffffffc0000000) },
};
extern struct list_head modules;
extern struct module first_module, second_module;
struct module first_module = { 0, { &second_module.list, &modules }, "overlay", &module_sections,
	(void *)(START + 0x900), 24 };
struct module second_module = { 0, { &modules, &first_module.list }, "other" };
struct list_head modules = { &first_module.list, &second_module.list };
word init_top_pgt[512];
