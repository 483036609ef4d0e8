/* State that the two threads of a small server share: one receives requests, one sends notices. */
#ifndef SERVER_H
#define SERVER_H

enum { SESSIONS = 64, ACTIVE_SESSIONS = 4 };

/* Buffers. The receiver fills them, the sender empties others. */
struct buffer_pool {
	unsigned long filled;
	unsigned long emptied;
	unsigned int buffer_bytes;
	unsigned int buffer_count;
};

/* Counters that the server reports. The receiver counts what comes in, the sender what goes out. */
struct server_stats {
	unsigned long started_at;
	unsigned long requests_in;
	unsigned long notices_out;
	unsigned long log_level;
	unsigned long listen_port;
};

/* A client's session. The receiver notes when it was seen, the sender what it was sent. */
struct session {
	unsigned long client_id;
	unsigned long last_seen;
	unsigned long bytes_sent;
	unsigned long state;
};

#endif
