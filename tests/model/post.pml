/* The post: one lane between a sender and a receiver. README.md says what is modelled, and what the flags break.

   A message stays under way for ever. It is read at any time, any number of times, or never: so the network loses, doubles,
   delays and reorders without bound. An answer tells a row that the receiver had at some time since the question: so the
   rows that it ever had are the answers under way. */

/* A set of events is a set of bits: two events of key A, in order, then those of key B. */
#define KEY_A 3
#ifdef TWO_B
#define KEY_B 12
#else
#define KEY_B 4
#endif
#define EVENTS_MAX 4
#define ROUNDS 12
#define first(set) ((set) & -(set))
#define is_pair(set) ((set) != first(set))

/* A chain is a hash of the former chain and a letter's ids, so it names all that has landed, in order. Here it is that
   history itself, four bits a letter. Numbers alone have none. */
#ifdef NUMBERS
#define chained(before, set) 0
#define follows(later, before) true
#else
#define chained(before, set) ((before) << EVENTS_MAX | (set))
#define follows(later, before) ((later) >> EVENTS_MAX == (before))
#endif

typedef Row { byte last; byte ids; byte landed; int chain };
Row row[ROWS];  /* every state that the receiver has committed; row[now] is its database */
byte now, rows = 1;
#define LAST row[now].last
#define LANDED row[now].landed

typedef Letter { byte n; byte ids; int before };
Letter letter[LETTERS];  /* a sorted set: equal sets are one state */
byte letters;
byte since[NUMBERS_MAX];  /* 1 + the oldest row that may answer a letter of this number */

byte known, owed, number;  /* the sender's database: events that it keeps, those not settled, the lane's number */
int chain;                 /* and the lane's chain */
byte forgotten;            /* events that a restored sender no longer knows */
bool restored;             /* a database has come back old */

byte at, to;  /* places in a loop; 0 outside of it */
byte landed_twice, out_of_order, lost, stuck, false_alarm;

/* ---- the receiver ---- */

#if defined(LANDS_AHEAD)
#define lands(num, before) ((num) > LAST)
#elif defined(LANDS_AGAIN)
#define lands(num, before) ((num) <= LAST + 1)
#elif defined(NUMBERS)
#define lands(num, before) ((num) == LAST + 1)
#else
#define lands(num, before) ((num) == LAST + 1 && (before) == row[now].chain)
#endif

#define overtakes(set, earlier, later) ((set) & (later) && !((LANDED | forgotten | (set)) & (earlier)))
#define comes_late(set, earlier, later) ((set) & (earlier) && LANDED & (later))

inline check_landing(set) {
  landed_twice = LANDED & (set);
  assert(!landed_twice);
  out_of_order = overtakes(set, 1, 2) || comes_late(set, 1, 2) || overtakes(set, 4, 8) || comes_late(set, 4, 8);
  assert(!out_of_order)
}

#define is_row(j, num, set, all, history) \
  (row[j].last == (num) && row[j].ids == (set) && row[j].landed == (all) && row[j].chain == (history))

inline commit_row(num, set, all, history) {
  at = 0;
  do
  :: at < rows && !is_row(at, num, set, all, history) -> at++
  :: else -> break
  od;
  if
  :: at == rows ->
     row[at].last = num; row[at].ids = set; row[at].landed = all; row[at].chain = history;
     rows++
  :: else
  fi;
  now = at;
  at = 0
}

inline land(num, set, before_it) {
  printf("- letter %d with {%d} lands; there was {%d}\n", num, set, LANDED);
  check_landing(set);
  commit_row(num, set, LANDED | (set), chained(before_it, set))
}

proctype Receiver() {
  byte i, n, ids;
  int before;
  do
  :: atomic {
       letters -> select(i : 0 .. letters - 1);
       n = letter[i].n; ids = letter[i].ids; before = letter[i].before;
       if
       :: lands(n, before) -> d_step { land(n, ids, before) }
#ifdef NUMBER_BEFORE
       :: lands(n, before) -> d_step { printf("- crash after number %d\n", n); commit_row(n, ids, LANDED, 0) }
#endif
#ifdef NUMBER_AFTER
       :: lands(n, before) -> d_step { printf("- crash after events {%d}\n", ids); commit_row(LAST, row[now].ids, LANDED | ids, 0) }
#endif
       :: else
       fi;
       i = 0; n = 0; ids = 0; before = 0
     }
  od
}

/* ---- the sender ---- */

#define is_next(j, num, history) (row[j].last == (num) + 1 && follows(row[j].chain, history))
#define is_same(j, num, history) (row[j].last == (num) && row[j].chain == (history))

inline settle(j, num, set) {
  printf("- settled: letter %d with {%d}\n", num + 1, set);
  owed = owed & ~(set);
  number = num + 1;
  chain = row[j].chain
}

/* The receiver is older or newer than the sender knows; row j tells which events it has. */
inline repair(j, num) {
  printf("- the sender at %d hears of %d with {%d}\n", num, row[j].last, row[j].landed);
#ifndef JUST_ADOPT
  false_alarm = !restored;
  assert(!false_alarm);
#ifdef ASKS_FOR_OWED
  owed = owed & ~row[j].landed;
#else
  owed = known & ~row[j].landed;
#endif
#endif
#ifdef BEYOND
  if
  :: row[j].last < num + 1 -> commit_row(num + 1, 0, LANDED, 0)
  :: else -> commit_row(row[j].last, 0, LANDED, 0)
  fi;
  number = LAST
#else
  number = row[j].last;
  chain = row[j].chain
#endif
}

#define is_before(k, num, set, history) (letter[k].n < (num) || letter[k].n == (num) && \
  (letter[k].before < (history) || letter[k].before == (history) && letter[k].ids < (set)))
#define is_letter(k, num, set, history) (letter[k].n == (num) && letter[k].before == (history) && letter[k].ids == (set))

inline expect_answer(num) {
  if
  :: since[num] == 0 -> since[num] = now + 1
  :: else
  fi
}

inline post(num, set, history) {
  printf("- letter %d with {%d} leaves\n", num, set);
  expect_answer(num);
  at = 0;
  do
  :: at < letters && is_before(at, num, set, history) -> at++
  :: else -> break
  od;
  if
  :: at < letters && is_letter(at, num, set, history)
  :: else ->
     to = letters;
     do
     :: to > at ->
        letter[to].n = letter[to - 1].n; letter[to].ids = letter[to - 1].ids; letter[to].before = letter[to - 1].before;
        to--
     :: else -> break
     od;
     letter[at].n = num; letter[at].ids = set; letter[at].before = history;
     letters++
  fi;
  at = 0; to = 0
}

/* One or two events, none before an earlier one of its key. */
inline choose(set, a, b) {
  if
  :: a -> set = first(a)
  :: b -> set = first(b)
  :: a && b -> set = first(a) | first(b)
  :: is_pair(a) -> set = a
  :: is_pair(b) -> set = b
  fi
}

#define READY_A (owed & KEY_A & ~cleared)
#define READY_B (owed & KEY_B & ~cleared)

/* The lane's number, unless it was read before (NUMBER_FIRST) or lives in memory (NOT_DURABLE). */
inline read_number() {
#ifndef NUMBER_FIRST
  if
  :: !cleared -> n = number; c = chain
  :: else
  fi;
#endif
  skip
}

/* Two of these. The stopped one takes no step for a while; then it goes on with what it believes. A crash, or a wait that
   is too long, goes back to the start. */
proctype Worker() {
  byte n, j, ids;
  byte cleared;  /* settled in memory only: NOT_DURABLE */
  int c;
start:
  atomic { n = 0; c = 0; j = 0; ids = 0; cleared = 0 };
#if defined(EVENTS_FIRST)
  choose(ids, READY_A, READY_B);
#elif defined(NUMBER_FIRST)
  atomic { n = number; c = chain };
#endif
write:
  atomic {
    if
#ifdef EVENTS_FIRST
    :: letters < LETTERS -> read_number(); d_step { post(n + 1, ids, c) }
#else
    :: letters < LETTERS && (READY_A || READY_B) ->
       read_number();
       choose(ids, READY_A, READY_B);
       d_step { post(n + 1, ids, c) }
#endif
    :: restored -> read_number(); ids = 0; expect_answer(n + 1)  /* an empty letter, which lands nothing */
#if defined(EVENTS_FIRST) || defined(NUMBER_FIRST)
    :: goto start
#endif
    fi;
#ifndef REMEMBERED_IDS
    ids = 0
#endif
  };
await:
  atomic {
    if
#ifdef PROMPT_ANSWERS
    :: j = now
#else
    :: select(j : since[n + 1] - 1 .. rows - 1)
#endif
    :: goto start
    fi;
    if
#ifdef NO_COMPARE
    :: is_next(j, n, c)
#endif
    :: number != n || chain != c -> goto start
#ifdef BEYOND
    :: number + 8 > NUMBERS_MAX -> goto start  /* one new number is enough */
#endif
    :: else
    fi;
    if
    :: is_same(j, n, c) -> j = 0; goto await
#ifdef NOT_DURABLE
    :: is_next(j, n, c) && !cleared -> cleared = row[j].ids; n++; c = row[j].chain; j = 0; goto write
#endif
#ifdef REMEMBERED_IDS
    :: is_next(j, n, c) -> settle(j, n, ids); goto start
#else
    :: is_next(j, n, c) -> settle(j, n, (row[j].ids | cleared)); goto start
#endif
    :: else
    fi;
#ifdef NUMBERS
    j = now;
#else
    select(j : 0 .. rows - 1);  /* an old answer to an old question may come, too */
#endif
    repair(j, n);
    goto start
  }
}

#define next_of(key) first(key & ~(known | forgotten))

proctype Emitter() {
  do
  :: d_step { next_of(KEY_A) -> owed = owed | next_of(KEY_A); known = known | next_of(KEY_A) }
  :: d_step { next_of(KEY_B) -> owed = owed | next_of(KEY_B); known = known | next_of(KEY_B) }
  od
}

/* ---- restores ---- */

/* From here on any row may answer any letter: more than can happen, and fewer states. */
inline come_back_old() {
  restored = true;
  at = 0;
  do
  :: at < NUMBERS_MAX -> since[at] = 1; at++
  :: else -> break
  od;
  at = 0
}

proctype ReceiverRestored() {
  byte j;
  atomic {
    now > 0 -> select(j : 0 .. now - 1);
    now = j;
    printf("- the receiver comes back at %d with {%d}\n", LAST, LANDED);
    come_back_old();
    j = 0
  }
}

proctype SenderRestored() {
  byte known_then, owed_then, number_then;
  int chain_then;
  d_step { known_then = known; owed_then = owed; number_then = number; chain_then = chain };
  d_step {
    printf("- the sender comes back at %d with {%d}\n", number_then, known_then);
    forgotten = known & ~known_then;
    known = known_then; owed = owed_then; number = number_then; chain = chain_then;
    known_then = 0; owed_then = 0; number_then = 0; chain_then = 0;
    come_back_old()
  }
}

/* ---- nothing is lost ---- */

byte owed_was, number_was, now_was, rows_was, rounds, load;
int chain_was;

/* From every state: when faults end, all that the sender keeps lands within ROUNDS letters. Then all is set back, so this
   adds no state. */
proctype FairEnd() {
  do
  :: d_step {
       owed_was = owed; number_was = number; chain_was = chain; now_was = now; rows_was = rows; rounds = 0;
       do
       :: rounds == ROUNDS -> break
#ifdef NO_EMPTY_LETTER
       :: rounds < ROUNDS && !owed -> break
#endif
       :: else ->
          rounds++;
          load = first(owed & KEY_A) | first(owed & KEY_B);
          if
          :: load && lands(number + 1, chain) -> land(number + 1, load, chain)
          :: else
          fi;
          if
          :: is_next(now, number, chain) -> settle(now, number, row[now].ids)
          :: is_same(now, number, chain) -> break
          :: else -> repair(now, number)
          fi
       od;
       stuck = rounds == ROUNDS;
       assert(!stuck);
       lost = known & ~LANDED;
       assert(!lost);
       do
       :: rows > rows_was ->
          rows--;
          row[rows].last = 0; row[rows].ids = 0; row[rows].landed = 0; row[rows].chain = 0
       :: else -> break
       od;
       now = now_was; owed = owed_was; number = number_was; chain = chain_was;
       now_was = 0; owed_was = 0; number_was = 0; chain_was = 0; rows_was = 0; rounds = 0; load = 0
     }
  od
}

init {
  atomic {
    run Worker();
#ifndef ONE_WORKER
    run Worker();
#endif
    run Receiver();
    run Emitter();
#ifdef RECEIVER_RESTORED
    run ReceiverRestored();
#endif
#ifdef SENDER_RESTORED
    run SenderRestored();
#endif
    run FairEnd()
  }
}
