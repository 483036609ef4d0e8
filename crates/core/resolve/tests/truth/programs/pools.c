/* Objects that do not come from malloc directly: wrappers, one size for many types, pools with free
 * lists, arenas that are cut into unlike objects. */
#include <stdlib.h>

#include "truth.h"

struct session {
	unsigned long id;
	struct session *next;
	int reads, writes;
	void *data;
};

struct request {
	struct session *session;
	unsigned long bytes;
	struct request *next;
	long status;
};

struct answer {
	long code;
	struct request *to;
	double seconds;
	struct answer *next;
};

struct pool {
	void *free;
	size_t bytes, taken;
};

struct arena {
	char *at, *end;
	unsigned cuts;
};

static struct pool sessions = { NULL, sizeof(struct session), 0 };
static struct arena arena;
static struct session *open_sessions;
static struct request *requests;
static struct answer *answers;

__attribute__((noinline)) static void *checked_malloc(size_t bytes)
{
	void *memory = malloc(bytes);

	if (!memory)
		abort();
	return memory;
}

__attribute__((noinline)) static void *zeroed(size_t bytes)
{
	return memset(checked_malloc(bytes), 0, bytes);
}

__attribute__((noinline)) static void *pool_get(struct pool *pool)
{
	void *object = pool->free;

	if (object)
		pool->free = *(void **)object;
	else
		object = checked_malloc(pool->bytes);
	pool->taken++;
	return object;
}

__attribute__((noinline)) static void *cut(struct arena *from, size_t bytes)
{
	void *object = from->at;

	from->at += (bytes + 15) & ~(size_t)15;
	from->cuts++;
	return from->at <= from->end ? object : NULL;
}

static struct session *session_new(void)
{
	struct session *session = pool_get(&sessions);

	OBJECT(session, struct session);
	session->id = sessions.taken;
	session->next = open_sessions;
	session->reads = session->writes = 0;
	open_sessions = session;
	return session;
}

static struct request *request_new(struct session *session)
{
	struct request *request = zeroed(sizeof *request);

	OBJECT(request, struct request);
	request->session = session;
	request->next = requests;
	requests = request;
	return request;
}

static struct answer *answer_new(struct request *request)
{
	struct answer *answer = zeroed(sizeof *answer);

	OBJECT(answer, struct answer);
	answer->to = request;
	answer->next = answers;
	answers = answer;
	return answer;
}

void prepare(void)
{
	MEMBER(struct session, id);
	MEMBER(struct session, next);
	MEMBER(struct session, reads);
	MEMBER(struct session, writes);
	MEMBER(struct session, data);
	MEMBER(struct request, session);
	MEMBER(struct request, bytes);
	MEMBER(struct request, next);
	MEMBER(struct request, status);
	MEMBER(struct answer, code);
	MEMBER(struct answer, to);
	MEMBER(struct answer, seconds);
	MEMBER(struct answer, next);
	MEMBER(struct pool, free);
	MEMBER(struct pool, bytes);
	MEMBER(struct pool, taken);
	MEMBER(struct arena, at);
	MEMBER(struct arena, end);
	MEMBER(struct arena, cuts);
	OBJECT(&sessions, struct pool);
	OBJECT(&arena, struct arena);
	SCALAR(open_sessions);
	SCALAR(requests);
	SCALAR(answers);
	arena.at = checked_malloc(4096);
	arena.end = arena.at + 4096;
	for (int n = 0; n < 6; n++)
		for (int m = 0; m <= n % 3; m++)
			answer_new(request_new(session_new()));
	for (int n = 0; n < 8; n++) {
		struct request *request = cut(&arena, sizeof *request);
		struct answer *answer = cut(&arena, sizeof *answer);

		OBJECT(request, struct request);
		OBJECT(answer, struct answer);
		*request = (struct request){ open_sessions, 0, requests, 0 };
		*answer = (struct answer){ n, request, 0, answers };
		requests = request;
		answers = answer;
	}
}

__attribute__((noinline)) static void serve(struct request *request, int number)
{
	struct session *session = request->session;

	request->bytes += (unsigned long)number * 10;
	request->status = session->writes;
	session->reads++;
	session->data = request;
}

void turn(int number)
{
	for (struct request *request = requests; request; request = request->next)
		serve(request, number);
	for (struct answer *answer = answers; answer; answer = answer->next) {
		answer->code += answer->to->status;
		answer->seconds += 0.25;
		answer->to->session->writes++;
	}
	for (struct session *session = open_sessions; session; session = session->next)
		session->id ^= 1;
}
