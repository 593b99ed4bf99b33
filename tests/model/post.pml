/* The post: one lane between a sender and a receiver. README.md says what is modelled and what -D flags there are.
   A message that was sent stays under way for ever. It is read at any time, any number of times, or never: so the
   network loses, doubles, delays and reorders without bound. An answer only tells what the receiver's row was at some
   time since the question; so the rows that were are the answers under way. */

/* Events are bits: two of key A, in order, and EVENTS_B of key B. */
#define KEY_A 3
#ifdef TWO_B
#define KEY_B 12
#else
#define KEY_B 4
#endif
#define first(set) ((set) & -(set))
#define size(set) (((set) & 1) + ((set) >> 1 & 1) + ((set) >> 2 & 1) + ((set) >> 3 & 1))

/* The chain names all letters that the receiver has landed, in order: a hash of the former chain and the ids. Here it
   is that history itself, four bits a letter. */
#ifdef NUMBERS
#define link(before, ids) 0
#define follows(chain, before) true
#else
#define link(before, ids) ((before) << 4 | (ids))
#define follows(chain, before) ((chain) >> 4 == (before))
#endif

typedef Row { byte last; byte ids; byte landed; int chain };
Row row[HISTORY];  /* the states that the receiver has committed; now is its database */
byte now, rows = 1;

typedef Letter { byte n; byte ids; int before };
Letter letter[LETTERS];  /* a set, sorted: equal sets are equal states */
byte letters;
byte since[NUMBERS_MAX];  /* 1 + the oldest row that may answer a letter of this number */

byte known, owed, number;  /* the sender's database: events kept, bits left, the lane's number and chain */
int chain;
byte gone;                 /* events that a restored sender has forgotten */
bool restored;             /* a database came back old */

hidden byte at, to;

/* The receiver. */
#define LAST row[now].last
#define LANDED row[now].landed

#define is_row(j, num, set, all, all_letters) (row[j].last == (num) && row[j].ids == (set) && row[j].landed == (all) && \
  row[j].chain == (all_letters))

inline store_row(num, set, all, all_letters) {
  at = 0;
  do
  :: at < rows && !is_row(at, num, set, all, all_letters) -> at++
  :: else -> break
  od;
  row[at].last = num; row[at].ids = set; row[at].landed = all; row[at].chain = all_letters;
  now = at;
  if
  :: at == rows -> rows++
  :: else
  fi;
  at = 0
}

#if defined(LANDS_AHEAD)
#define acceptable(n, before) ((n) > LAST)
#elif defined(LANDS_AGAIN)
#define acceptable(n, before) ((n) <= LAST + 1)
#elif defined(NUMBERS)
#define acceptable(n, before) ((n) == LAST + 1)
#else
#define acceptable(n, before) ((n) == LAST + 1 && (before) == row[now].chain)
#endif

inline check_landing(set) {
  assert(!(LANDED & (set)) /* TWICE */);
  assert(!((set) & 1 && LANDED & 2) /* ORDER */);
  assert(!((set) & 2) || (LANDED | gone | (set)) & 1 /* ORDER */);
  assert(!((set) & 4 && LANDED & 8) /* ORDER */);
  assert(!((set) & 8) || (LANDED | gone | (set)) & 4 /* ORDER */)
}

inline land(num, set, bef) {
  printf("land letter %d {%d}, before it %d: has {%d}\n", num, set, bef, LANDED);
  check_landing(set);
  store_row(num, set, LANDED | (set), link(bef, set))
}

/* The sender. */
#define is_next(j, n, c) (row[j].last == (n) + 1 && follows(row[j].chain, c))
#ifdef NUMBERS
#define is_same(j, n, c) (row[j].last == (n))
#else
#define is_same(j, n, c) (row[j].last == (n) && row[j].chain == (c))
#endif
#define unchanged(n, c) (number == (n) && chain == (c))

inline settle(j, num, set) {
  printf("settle letter %d {%d}\n", num + 1, set);
  owed = owed & ~(set);
  number = num + 1;
  chain = row[j].chain
}

/* Row j answers which of the kept ids the receiver has. */
inline repair(j, num) {
  printf("repair: sender at %d, the receiver's answer is %d with {%d}\n", num, row[j].last, row[j].landed);
#ifndef JUST_ADOPT
  assert(restored /* ALERT */);
#ifdef ASKS_FOR_OWED
  owed = owed & ~row[j].landed;
#else
  owed = known & ~row[j].landed;
#endif
#endif
#ifdef BEYOND
  if
  :: row[j].last < num + 1 -> store_row(num + 1, 0, LANDED, 0)
  :: else -> store_row(row[j].last, 0, LANDED, 0)
  fi;
  number = LAST
#else
  number = row[j].last;
  chain = row[j].chain
#endif
}

inline post(num, set, bef) {
  printf("post letter %d {%d}, before it %d\n", num, set, bef);
  at = 0;
  do
  :: at < letters && (letter[at].n < num || letter[at].n == num && (letter[at].before < bef ||
       letter[at].before == bef && letter[at].ids < set)) -> at++
  :: else -> break
  od;
  if
  :: at < letters && letter[at].n == num && letter[at].before == bef && letter[at].ids == set -> skip
  :: else ->
     to = letters;
     do
     :: to > at ->
        letter[to].n = letter[to - 1].n; letter[to].ids = letter[to - 1].ids; letter[to].before = letter[to - 1].before;
        to--
     :: else -> break
     od;
     letter[at].n = num; letter[at].ids = set; letter[at].before = bef;
     letters++
  fi;
  at = 0; to = 0
}

inline open_question(num) {
  if
  :: since[num] == 0 -> since[num] = now + 1
  :: else
  fi
}

#define A (owed & KEY_A & ~settled)
#define B (owed & KEY_B & ~settled)

/* One or two events, no event before an earlier one of its key. */
inline choose(set) {
  if
  :: A -> set = first(A)
  :: B -> set = first(B)
  :: A && B -> set = first(A) | first(B)
  :: size(A) == 2 -> set = A
  :: size(B) == 2 -> set = B
  fi
}

inline snapshot() {
#ifndef NUMBER_FIRST
  if
  :: settled == 0 -> n = number; c = chain
  :: else
  fi;
#endif
  skip
}


/* Two of these: the one that is stopped is the one that takes no step. A crash goes back to reading. */
proctype Worker() {
  byte n, j, ids, settled;
  int c;
read:
  atomic { n = 0; c = 0; j = 0; ids = 0; settled = 0 };
#if defined(EVENTS_FIRST)
  choose(ids);
#elif defined(NUMBER_FIRST)
  atomic { n = number; c = chain };
#endif
write:
  atomic {
    if
#ifdef EVENTS_FIRST
    :: letters < LETTERS -> snapshot(); d_step { post(n + 1, ids, c); open_question(n + 1) }
#else
    :: letters < LETTERS && (A || B) -> snapshot(); choose(ids); d_step { post(n + 1, ids, c); open_question(n + 1) }
#endif
    :: restored -> snapshot(); d_step { ids = 0; open_question(n + 1) }  /* an empty letter, which lands nothing */
#if defined(EVENTS_FIRST) || defined(NUMBER_FIRST)
    :: goto read
#endif
    fi;
#ifndef REMEMBERED_IDS
    ids = 0
#endif
  };
await:
  atomic {
    if
    :: select(j : since[n + 1] - 1 .. rows - 1)
    :: goto read
    fi;
#ifdef NO_COMPARE
    if
    :: !unchanged(n, c) && !is_next(j, n, c) -> goto read
#else
    if
    :: !unchanged(n, c) -> goto read
#endif
#ifdef BEYOND
    :: number + 8 > NUMBERS_MAX -> goto read  /* one new number is enough */
#endif
    :: else
    fi;
    if
    :: is_same(j, n, c) -> j = 0; goto await
    :: is_next(j, n, c) ->
#ifdef NOT_DURABLE
       if
       :: settled == 0 -> settled = row[j].ids; n++; c = row[j].chain; j = 0; goto write
       :: skip
       fi;
#endif
#ifdef REMEMBERED_IDS
       settle(j, n, ids);
#else
       settle(j, n, (row[j].ids | settled));
#endif
       goto read
    :: else
    fi;
    /* Any old answer to the question for ids may come, too. */
#ifdef NUMBERS
    j = now;
#else
    select(j : 0 .. rows - 1);
#endif
    repair(j, n);
    goto read
  }
}

proctype Receiver() {
  byte i, n, ids;
  int before;
  do
  :: atomic {
       letters && rows < HISTORY -> select(i : 0 .. letters - 1);
       n = letter[i].n; ids = letter[i].ids; before = letter[i].before;
       if
       :: acceptable(n, before) ->
#if defined(NUMBER_BEFORE)
          if
          :: d_step { check_landing(ids); store_row(n, ids, LANDED, 0) }
          :: d_step { land(n, ids, before) }
          fi
#elif defined(NUMBER_AFTER)
          if
          :: d_step { check_landing(ids); store_row(LAST, 0, LANDED | ids, 0) }
          :: d_step { land(n, ids, before) }
          fi
#else
          d_step { land(n, ids, before) }
#endif
       :: else
       fi;
       d_step { i = 0; n = 0; ids = 0; before = 0 }
     }
  od
}

proctype Emitter() {
  do
  :: d_step { KEY_A & ~(known | gone) -> owed = owed | first(KEY_A & ~(known | gone)); known = known | first(KEY_A & ~(known | gone)) }
  :: d_step { KEY_B & ~(known | gone) -> owed = owed | first(KEY_B & ~(known | gone)); known = known | first(KEY_B & ~(known | gone)) }
  od
}

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

#ifdef RECEIVER_RESTORED
proctype ReceiverRestored() {
  byte j;
  atomic {
    now > 0 -> select(j : 0 .. now - 1);
    now = j;
    printf("receiver comes back at %d with {%d}\n", LAST, LANDED);
    come_back_old();
    j = 0
  }
}
#endif

#ifdef SENDER_RESTORED
proctype SenderRestored() {
  byte known_then, owed_then, number_then;
  int chain_then;
  d_step { known_then = known; owed_then = owed; number_then = number; chain_then = chain };
  d_step {
    gone = known & ~known_then;
    printf("sender comes back at %d with {%d}\n", number_then, known_then);
    known = known_then; owed = owed_then; number = number_then; chain = chain_then;
    come_back_old();
    known_then = 0; owed_then = 0; number_then = 0; chain_then = 0
  }
}
#endif

/* From every state: when faults end, all that the sender keeps lands within ROUNDS letters. Afterwards all is as it
   was, so this adds no state. */
hidden byte owed_was, number_was, now_was, rows_was, rounds, load;
hidden int chain_was;
#define settled 0
proctype FairEnd() {
  do
  :: d_step {
       owed_was = owed; number_was = number; chain_was = chain; now_was = now; rows_was = rows; rounds = 0;
       printf("faults end\n");
       do
       :: rounds == ROUNDS -> break
#ifdef NO_EMPTY_LETTER
       :: rounds < ROUNDS && owed == 0 -> break
#endif
       :: else ->
          rounds++;
          load = first(A) | first(B);
          if
          :: load && acceptable(number + 1, chain) -> land(number + 1, load, chain)
          :: else
          fi;
          if
          :: is_next(now, number, chain) -> settle(now, number, row[now].ids)
          :: is_same(now, number, chain) -> assert(!load); break
          :: else -> repair(now, number)
          fi
       od;
       assert(rounds < ROUNDS /* STUCK */);
       assert(!(known & ~LANDED) /* LOST */);
       do
       :: rows > rows_was ->
          rows--;
          row[rows].last = 0; row[rows].ids = 0; row[rows].landed = 0; row[rows].chain = 0
       :: else -> break
       od;
       now = now_was;
       owed = owed_was; number = number_was; chain = chain_was; load = 0
     }
  od
}
#undef settled

init {
  atomic {
    run Worker();
#ifndef ONE_WORKER
    run Worker();
#endif
    run Receiver();
    run Emitter();
    run FairEnd();
#ifdef RECEIVER_RESTORED
    run ReceiverRestored();
#endif
#ifdef SENDER_RESTORED
    run SenderRestored();
#endif
  }
}
