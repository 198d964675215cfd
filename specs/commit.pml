/*
 * The commit protocol as a program for the model checker spin: commit, rebase,
 * merges of files, garbage collection with its floor, expiry, rewind. spin tries every order of
 * the steps of all processes, with FAULTS faults wherever one can happen, and
 * holds each state to the invariants of docs/GUARANTEES.md. README.md says how
 * the words map to the code, and what each switch takes away.
 */
#ifndef FAULTS
#define FAULTS 1                /* lost answers, late landings, crashes */
#endif
#ifndef TRIES
#define TRIES 2                 /* attempts of the first writer; the second has 1 */
#endif
#ifndef MERGES
#define MERGES 0                /* processes that merge files, each with 1 attempt; at most 2 */
#endif
/* Attempts, numbered: 0 is genesis, the first writer has 1 and 2, the second 3. */
#define MERGE    4              /* and 5 */
#define FLOOR    6
#define EXPIRE   7
#define REWIND   8
#define SLOTS    9              /* genesis and one for every attempt */
#define ALL      3              /* the ranges of the source, a bit each */

typedef Manifest {
    bool taken;                 /* the key exists */
    byte attempt, parent;       /* parent: the attempt in the slot before */
    byte progress, live;        /* after this manifest: ranges, files (1 << attempt) */
    byte generation, gc_floor, retain_from
}

Manifest slot[SLOTS];           /* manifests/<seq>.json */
byte head;                      /* the last slot that is taken */
byte files;                     /* data files on the store */
byte base_of[FLOOR], ranges_of[FLOOR];  /* of an attempt; ranges: whose rows are in its file */
byte gone_of[FLOOR];            /* files that an attempt takes away: a merge's */
byte to;                        /* snapshot that the rewind restores */
byte faults = FAULTS;
byte kept_seq, kept;            /* slot and attempt of a PUT that the network still holds */
byte acked[SLOTS];              /* slot that an attempt was told is its own */
hidden byte i, j, rows;         /* of the checks alone */

/* I10: what a retained snapshot names is there. */
inline check_files() {
    for (i : slot[head].retain_from .. head) { assert((slot[i].live & ~files) == 0) }
}
inline check_chain() {
    rows = 0;
    for (i : 1 .. head) {
        assert(slot[i].parent == slot[i-1].attempt);                /* I2: no fork */
        assert(slot[i].gc_floor >= slot[i-1].gc_floor && slot[i].retain_from >= slot[i-1].retain_from); /* I9 */
        for (j : 1 .. i - 1) { assert(slot[i].attempt != slot[j].attempt) } /* I7 */
    }
    if  :: slot[head].attempt < MERGE -> assert((ranges_of[slot[head].attempt] & slot[head-1].progress) == 0) /* I4, I5 */
    :: else fi;
    for (i : 1 .. FLOOR - 1) {
        if  :: slot[head].live & (1 << i) ->
            assert((rows & ranges_of[i]) == 0);                     /* I14: nothing doubled */
            rows = rows | ranges_of[i]
        :: else fi
    }
    for (i : 1 .. REWIND) { assert(acked[i] == 0 || slot[acked[i]].attempt == i) } /* I6 */
    assert(rows == slot[head].progress);                            /* I14: nothing lost */
    check_files()
}

/*
 * One conditional PUT (If-None-Match: *) of the manifest of an attempt as it is
 * on top of the slot before: seq and attempt fix the bytes.
 */
inline put(seq, me) {
    if
#ifdef NO_CONDITION
    :: slot[seq].taken && slot[seq].attempt == me -> skip
#else
    :: slot[seq].taken -> skip                                      /* 412 */
#endif
    :: else ->
        slot[seq].taken = true;
        slot[seq].attempt = me; slot[seq].parent = slot[seq-1].attempt;
        slot[seq].progress = slot[seq-1].progress; slot[seq].live = slot[seq-1].live;
        slot[seq].generation = slot[seq-1].generation;
        slot[seq].gc_floor = slot[seq-1].gc_floor; slot[seq].retain_from = slot[seq-1].retain_from;
        if  :: me == FLOOR  -> slot[seq].gc_floor = seq
        :: me == EXPIRE -> slot[seq].retain_from = slot[seq-1].gc_floor
        :: me == REWIND -> slot[seq].generation = slot[seq-1].generation + 1;
            slot[seq].progress = slot[to].progress; slot[seq].live = slot[to].live
        :: else -> slot[seq].live = (slot[seq].live & ~gone_of[me]) | (1 << me);
            if  :: me < MERGE -> slot[seq].progress = slot[seq].progress | ranges_of[me]
            :: else fi
        fi;
        if :: seq > head -> head = seq :: else fi;
        check_chain()
    fi
}

/*
 * Whatever becomes of a PUT. Without an answer the same bytes are sent to the
 * same slot again, until it is taken: settle.
 */
inline settle(seq, me) {
    do
    :: atomic { put(seq, me); break }                               /* 200 or 412 */
    :: atomic { faults > 0 -> faults--; put(seq, me); unsure(seq, me) } /* answer lost */
    :: atomic { faults > 0 && !kept_seq -> faults--;
        kept_seq = seq; kept = me; unsure(seq, me) }                /* lost, lands later */
    :: atomic { faults > 0 -> faults--; put(seq, me); goto dead }   /* crash after it */
    :: atomic { faults > 0 && !kept_seq -> faults--;
        kept_seq = seq; kept = me; goto dead }                      /* crash, lands later */
    od
}

/* Only broken writers act on an unknown outcome. */
inline unsure(seq, me) {
    if
#ifdef BLIND_RETRY
    :: me < FLOOR -> h = head; goto propose                         /* reload, append again */
#endif
#ifdef TRUST_404
    :: me < FLOOR && !slot[seq].taken -> goto lost                  /* absent: failed */
#endif
    :: else fi
}
proctype Writer(byte me, last) {
    byte base, h, taken, k;
dead:                           /* a new process, or the next batch */
start:
    atomic { me++; base = 0; h = 0 };
endwait:
    atomic {
        if  :: me > last -> goto done
        :: me <= last && slot[head].progress != ALL ->              /* head, plan */
            base = head; h = head;
            if  :: !(slot[h].progress & 1) -> ranges_of[me] = 1
            :: !(slot[h].progress & 2) -> ranges_of[me] = 2
            :: last > 2 && !slot[h].progress -> ranges_of[me] = ALL
            fi;
            base_of[me] = base
        fi
    };
    atomic { files = files | (1 << me) };                           /* data file */
decide:
    atomic {
        taken = 0;
        for (k : base + 1 .. h) {
            if  :: slot[k].attempt < MERGE -> taken = taken | ranges_of[slot[k].attempt]
            :: else fi
        }
        taken = taken & ranges_of[me]; k = 0;
        if
#ifndef NO_GENERATION
        :: slot[h].generation != slot[base].generation -> goto lost /* abort */
#endif
#ifndef NO_FLOOR
        :: base < slot[h].gc_floor -> goto lost                     /* abort */
#endif
        :: else fi;
#ifndef NO_COVERAGE
        if  :: taken == ranges_of[me] ->                                /* already */
            assert((ranges_of[me] & ~slot[h].progress) == 0);       /* I6 */
            goto lost
        :: taken != ranges_of[me] && (taken || (ranges_of[me] & slot[h].progress)) -> goto lost /* replan */
        :: else fi;
#endif
        taken = 0
    };
propose:
    settle(h + 1, me);
    atomic {
        if  :: slot[h+1].attempt == me -> acked[me] = h + 1; goto start /* committed */
        :: else -> h = head; goto decide                            /* catch up, rebase */
        fi
    };
lost:                           /* proved never to commit: clean up */
    atomic {
        taken = 0; files = files & ~(1 << me); check_files();
        base_of[me] = 0; ranges_of[me] = 0; goto start
    };
end:
done:
    skip
}
/* A merge: the rows of some live files go into one, which takes their place. */
proctype Merger(byte me) {
    byte base, h, k;
start:
endwait:
    atomic {
        slot[head].live ->                                          /* head, plan */
        base = head; h = head;
        for (k : 1 .. FLOOR - 1) {
            if  :: slot[h].live & (1 << k) ->
                gone_of[me] = gone_of[me] | (1 << k); ranges_of[me] = ranges_of[me] | ranges_of[k]
            :: skip
            fi
        }
        if :: !gone_of[me] -> goto lost :: else fi;
        base_of[me] = base; k = 0
    };
    atomic { files = files | (1 << me) };                           /* data file */
decide:
    atomic {
        if  :: slot[h].generation != slot[base].generation -> goto lost /* abort */
#ifndef NO_FLOOR
        :: base < slot[h].gc_floor -> goto lost                     /* abort */
#endif
#ifndef NO_STILL_LIVE
        :: gone_of[me] & ~slot[h].live -> goto lost                 /* re-encode */
#endif
        :: else fi
    };
propose:
    settle(h + 1, me);
    atomic {
        if  :: slot[h+1].attempt == me -> acked[me] = h + 1; goto done /* committed */
        :: else -> h = head; goto decide                            /* catch up, rebase */
        fi
    };
lost:                           /* proved never to commit: clean up */
    atomic {
        files = files & ~(1 << me); check_files();
        base_of[me] = 0; ranges_of[me] = 0; gone_of[me] = 0
    };
dead: done:
    atomic { base = 0; h = 0 }
}
/* A manifest of a kind that reads no source: proposed until it stands. */
inline append(me) {
    do
    :: settle(h + 1, me);
        atomic {
            if  :: slot[h+1].attempt == me -> h++; acked[me] = h; break
            :: else -> h = head
            fi
        }
    od
}
/* gc: floor, perhaps expire, then delete what nothing retained refers to below the floor. */
proctype Collector() {
    byte h, refs, n;
    h = head;
#ifndef NO_FLOOR_FIRST
    append(FLOOR);
#endif
#ifndef NO_EXPIRE
    if  :: skip
    :: append(EXPIRE)
    fi;
#endif
    atomic { for (n : slot[h].retain_from .. h) { refs = refs | slot[n].live } };
    atomic {
        for (n : 1 .. FLOOR - 1) {
            if
#ifdef NO_FLOOR_FIRST
            :: !(refs & (1 << n)) && base_of[n] <= h ->
#else
            :: !(refs & (1 << n)) && base_of[n] < slot[h].gc_floor ->
#endif
                files = files & ~(1 << n)
            :: else fi
        }
        check_files()
    };
propose: lost: dead:            /* the first two are a writer's */
    atomic { h = 0; refs = 0; n = 0 }
}
proctype Rewinder() {
    byte h;
end:
    atomic { head > 0 -> h = head; select(to : 0 .. h) };
    do
    :: to < slot[h].retain_from -> break                            /* refused */
    :: to >= slot[h].retain_from ->
        settle(h + 1, REWIND);
        atomic {
            if  :: slot[h+1].attempt == REWIND -> acked[REWIND] = h + 1; break
            :: else -> h = head
            fi
        }
    od;
propose: lost: dead:
    h = 0
}
/* What the network holds lands at any time, or never. */
proctype Network() {
end:
    do :: atomic { kept_seq -> put(kept_seq, kept); kept_seq = 0; kept = 0 } od
}
init {
    atomic { slot[0].taken = true;
        run Writer(0, TRIES); run Writer(2, 3); run Network();
#if MERGES > 0
        run Merger(MERGE);
#endif
#if MERGES > 1
        run Merger(MERGE + 1);
#endif
#ifndef NO_GC
        run Collector();
#endif
#ifndef NO_REWIND
        run Rewinder()
#endif
    }
}
