import { type Plan, told } from './plan.ts'

/** Runs that failed once, each without the steps that its fault does not need. The steps are `tab id n ms what`. */
export const corpus: readonly (readonly [title: string, plan: Plan])[] = [
  [
    'a synced write is never laid over newer data in another tab',
    told({ tabs: 2, opened: [0, 1] }, ['0 a 1 3000 put', '1 a 606 70000 delete elsewhere']),
  ],
  [
    'a write that another tab has sent is not stored again by the tab that made it',
    told({ tabs: 3, opened: [2, 1, 0] }, [
      '2 c 287 1 stop',
      '2 a 825 70000 delete',
      '0 c 858 3000 crash',
      '0 a 981 1 insert',
      '1 a 979 70000 stop',
    ]),
  ],
  [
    'a write that every tab has seen is not sent again after a restore',
    told({ tabs: 3, opened: [0, 1, 2] }, ['1 b 427 70000 put', '0 c 221 50 restore']),
  ],
  [
    'a write that every tab has seen is not sent again after a change of the epoch',
    told({ tabs: 2, opened: [0, 1] }, ['0 a 681 70000 update', '0 a 278 300 new epoch']),
  ],
  [
    'a tab that does not store opens the store again after the engine closed it',
    told({ tabs: 3, opened: [2, 1, 0] }, [
      '0 a 2 3000 update elsewhere',
      '2 a 30 70000 close the store',
      '1 a 15 3000 put',
    ]),
  ],
  [
    'what was undone offline leaves no trace at the server',
    told({ opened: [0] }, [
      '0 a 590 3000 cut',
      '0 a 48 1 delete',
      '0 a 648 3000 undo',
      '0 a 2 50 update elsewhere',
    ]),
  ],
  [
    'what was undone offline leaves no refusal in the inbox',
    told({ opened: [0] }, [
      '0 a 590 3000 cut',
      '0 a 48 50 update',
      '0 a 648 50 undo',
      '0 a 2 50 delete elsewhere',
    ]),
  ],
  [
    'an undo restores what somebody else wrote below the write',
    told({ opened: [0] }, ['0 b 392 1 update', '0 b 517 70000 update elsewhere', '0 b 977 70000 undo']),
  ],
  [
    'a redo does not bring back what somebody else removed',
    told({ opened: [0], undoesInSteps: true }, [
      '0 a 183 50 stop',
      '0 a 381 50 update',
      '0 a 635 50 undo',
      '0 a 388 50 delete elsewhere',
      '0 a 581 3000 stop',
      '0 a 314 3000 redo',
    ]),
  ],
  [
    'a redo does not replace what somebody else wrote meanwhile',
    told({ opened: [0], undoesInSteps: true }, [
      '0 a 183 50 stop',
      '0 a 552 50 update',
      '0 a 635 50 undo',
      '0 a 76 50 update elsewhere',
      '0 a 581 3000 stop',
      '0 a 742 3000 redo',
    ]),
  ],
  [
    'a write that the store does not take is sent',
    told({ opened: [0] }, ['0 b 437 70000 store trouble', '0 a 407 3000 update']),
  ],
  [
    'an undone delete restores the fields that somebody else wrote before it',
    told({ opened: [0] }, ['0 a 578 1 update elsewhere', '0 a 126 70000 delete', '0 a 790 300 undo']),
  ],
  [
    'an undo changes no field that its write did not',
    told({ opened: [0] }, ['0 a 3 3000 update', '0 a 2 1 put elsewhere', '0 a 0 3000 undo']),
  ],
  [
    'an undo leaves what another tab wrote over the write',
    told({ tabs: 3, opened: [0, 1, 2] }, [
      '1 c 108 300 cut',
      '2 a 582 3000 update',
      '1 a 135 1 put',
      '2 a 150 1 undo',
    ]),
  ],
  [
    'an undo of what was written before any data had come removes no record that was there',
    told({ storeMs: 20 }, ['0 a 917 70000 put', '0 a 882 300 undo']),
  ],
  [
    'an undone insert leaves a record that somebody else has changed',
    told({ opened: [0] }, ['0 c 588 3000 insert', '0 c 911 3000 update elsewhere', '0 c 894 300 undo']),
  ],
  [
    'what could not leave the disk at once leaves it once the store takes writes',
    told({ tabs: 2, opened: [1, 0], endsRestored: true }, [
      '1 a 655 1 put',
      '1 a 23 3000 store trouble',
      '0 a 339 300 store trouble',
      '0 c 360 1 show',
      '1 b 444 3000 store trouble',
    ]),
  ],
  [
    'what the user cleared is stored again once the store takes writes',
    told({ endsRestored: true }, [
      '0 a 542 3000 insert',
      '0 a 785 3000 store trouble',
      '0 b 278 3000 clear the store',
    ]),
  ],
  [
    'a client rests while a synced write cannot leave the disk',
    told({ tabs: 2, opened: [1, 0] }, [
      '0 b 653 1 store trouble',
      '0 b 863 70000 store trouble',
      '0 c 360 1 put',
      '1 b 680 3000 store trouble',
    ]),
  ],
  [
    'an undo that is refused is not done again on old data by the tab that made it',
    told({ tabs: 2, hasLocks: true, channel: 'fine', undoesInSteps: true, endsRestored: true }, [
      '1 c 666 50 undo',
      '0 b 558 300 delete',
      '1 a 76 70000 stop',
      '1 a 854 3000 update',
      '1 a 682 1 undo',
      '1 a 288 1 delete elsewhere',
      '1 a 836 70000 stop',
    ]),
  ],
  [
    'a tab that was refused before it followed is in step once another tab is signed in again',
    told(
      {
        mode: 'other user',
        tabs: 3,
        hasLocks: true,
        channel: 'fine',
        undoesInSteps: true,
        opened: [2, 1, 0],
      },
      ['1 c 742 300 somebody else signs in', '0 a 391 3000 close', '2 a 427 50 update'],
    ),
  ],
  [
    'an undo in a tab that reads the data from the disk restores what was there right before its write',
    told(
      {
        mode: 'undo',
        channel: 'faulty',
        tabs: 2,
        undoesInSteps: true,
        endsRestored: true,
        opened: [1, 0],
        seed: 1355,
      },
      [
        '1 b 520 1 delete elsewhere',
        '1 a 404 300 put',
        '1 a 116 50 update elsewhere',
        '1 a 258 1 undo',
        '1 a 498 70000 update',
        '1 a 909 50 undo',
      ],
    ),
  ],
  [
    'a tab does not take a store that the user has cleared for one from which the user has signed out',
    told(
      {
        mode: 'all',
        channel: 'none',
        tabs: 3,
        undoesInSteps: true,
        endsRestored: true,
        opened: [0, 1, 2],
        seed: 88,
      },
      ['0 c 664 1 store trouble', '2 a 915 50 clear the store'],
    ),
  ],
  [
    'a write of which the disk did not say whether it was stored may be sent after a crash',
    told({ mode: 'hour', hasLocks: true, channel: 'faulty', tabs: 2, undoesInSteps: true }, [
      '1 a 526 2000 stop',
      '1 a 296 20000 black hole',
      '0 a 110 300 fail requests',
      '0 b 891 20000 fail requests',
      '1 c 208 30 fail a step of the store',
      '1 a 825 2000 put',
      '1 c 54 20000 fail a step of the store',
      '0 b 109 20000 mend',
      '0 a 193 2000 fail writes',
    ]),
  ],
  [
    'a write that cannot be stored waits while it is not known whether the server can be reached',
    told({ hasLocks: true, channel: 'fine', tabs: 2, opened: [0, 1] }, [
      '1 a 44 70000 store trouble',
      '1 a 497 300 delete',
      '0 a 396 300 new epoch',
      '0 a 317 50 insert',
    ]),
  ],
  [
    'a write is not taken for sent while it is being stored again in a database that was cleared',
    told({ mode: 'store', hasLocks: true, channel: 'fine', tabs: 2, opened: [1, 0] }, [
      '0 c 548 1 cut',
      '0 c 679 3000 crash',
      '1 b 312 50 update',
      '1 c 534 300 store trouble',
      '1 c 493 300 clear the store',
      '1 a 183 300 update',
    ]),
  ],
  [
    'a write of a crashed tab that another tab has seen is not sent again, though the tabs hear nothing of each other',
    told({ mode: 'tabs', hasLocks: true, tabs: 2, hasSecondDevice: true, opened: [2, 1, 0] }, [
      '1 a 22 3000 show',
      '0 b 316 300 update',
      '0 a 335 70000 crash',
    ]),
  ],
  [
    'a tab that takes the lead while it reads what the last leader stored tells its listeners of it',
    told({ seed: 33655, mode: 'pages', hasLocks: true, channel: 'faulty', tabs: 3, opened: [0, 1, 2] }, [
      '1 a 212 50 delete elsewhere',
      '0 c 603 1 show',
    ]),
  ],
  [
    'a rejection that a full disk did not store reaches the other tabs once there is room',
    told({ hasLocks: true, channel: 'fine', tabs: 3 }, [
      '2 a 258 3000 put',
      '0 a 463 50 insert',
      '1 a 173 1 store trouble',
      '1 a 693 300 put',
    ]),
  ],
  [
    'a tab that finds on its first look at the disk that the user has signed out ends',
    told({ seed: 26718, mode: 'pages', channel: 'fine', tabs: 2, storeMs: 20 }, [
      '0 b 78 70000 update',
      '1 a 514 1 insert',
      '0 a 263 1 cut',
      '0 a 696 1 sign out',
    ]),
  ],
  [
    'a write that the server refused and accepts after a restore waits in no inbox, though the disk fails',
    told({ hasLocks: true, channel: 'fine', tabs: 3, endsRestored: true, opened: [2, 1, 0] }, [
      '2 b 880 50 server down',
      '2 a 841 1 delete elsewhere',
      '1 a 113 300 update',
      '1 c 60 70000 store trouble',
      '2 c 289 50 insert',
      '0 a 133 300 server down',
      '2 c 595 300 restore',
      '1 a 176 70000 lose an answer',
    ]),
  ],
  [
    'a refused write stays in the inbox of each tab after the user has cleared the store',
    told(
      {
        mode: 'store',
        channel: 'fine',
        tabs: 3,
        undoesInSteps: true,
        storeMs: 20,
        endsRestored: true,
        opened: [0, 1, 2],
      },
      ['2 b 159 50 crash', '2 a 35 70000 insert', '2 b 189 1 clear the store'],
    ),
  ],
  [
    'an undone put leaves a record to which somebody else adds a field at the same moment',
    told({ mode: 'undo', opened: [0] }, ['0 c 933 3000 put', '0 c 871 1 update elsewhere', '0 c 255 1 undo']),
  ],
  [
    'a redone removal leaves a record to which somebody else has added a field unheard',
    told({ mode: 'undo', undoesInSteps: true, opened: [0] }, [
      '0 a 123 3000 update',
      '0 a 97 1 undo',
      '0 b 349 1 delete',
      '0 b 91 1 update elsewhere',
      '0 c 720 50 stop',
      '0 c 166 3000 undo',
      '0 c 337 70000 redo',
    ]),
  ],
  [
    'an undone put, made before any data had come, brings back the fields that it has taken away',
    told({ mode: 'undo', hasLocks: true, undoesInSteps: true, endsRestored: true }, [
      '0 a 671 300 put',
      '0 b 738 3000 cut',
      '0 b 766 3000 undo',
    ]),
  ],
  [
    'an undone put may restore what was there before a change that a delta has left out',
    told({ mode: 'undo', channel: 'fine', refuses: true }, [
      '0 a 459 50 put',
      '0 a 916 300 update elsewhere',
      '0 a 233 70000 undo',
    ]),
  ],
  [
    'an undone removal may restore what was there before a change that a delta has left out',
    told({ seed: 130488, mode: 'undo', channel: 'none', undoesInSteps: true, opened: [0, 1], tabs: 2 }, [
      '0 a 340 50 update',
      '1 a 102 3000 cut',
      '1 a 333 1 update',
      '1 a 493 3000 update elsewhere',
      '1 a 373 300 cut',
      '0 b 892 50 delete',
      '0 b 678 70000 update elsewhere',
      '0 b 848 3000 undo',
    ]),
  ],
  [
    'an undo of what every other tab has seen is carried out after a restore',
    told({ tabs: 3, hasLocks: true, channel: 'fine', undoesInSteps: true, opened: [0, 1, 2] }, [
      '2 a 514 3000 stop',
      '2 a 275 3000 update',
      '0 b 280 1 restore',
      '2 a 750 300 undo',
    ]),
  ],
  [
    'a tab that waits for a slow disk in order to lead follows another one that leads meanwhile',
    told({ channel: 'fine', tabs: 3, undoesInSteps: true, refuses: true, opened: [2, 1, 0] }, [
      '2 a 947 3000 store trouble',
      '2 a 911 50 restore',
      '1 b 90 3000 show',
    ]),
  ],
  [
    'a write that the data shows is not sent again after a restore, though the disk was full at first',
    told({ seed: 63800, mode: 'store', hasLocks: true, endsRestored: true }, [
      '0 c 906 1 update',
      '0 a 293 70000 close the store',
      '0 a 643 1 update',
      '0 a 429 1 store trouble',
      '0 b 705 3000 show',
    ]),
  ],
  [
    'a write is not sent before an earlier one that a hanging disk did not take',
    told({ seed: 66670, mode: 'store', hasLocks: true, channel: 'fine', tabs: 2, opened: [1, 0] }, [
      '0 a 907 1 store trouble',
      '1 c 793 300 close the store',
      '0 b 30 3000 update',
      '0 a 858 3000 put',
    ]),
  ],
  [
    'a write whose undo a failing disk did not take is sent later, though the disk never had it',
    told({ channel: 'fine', undoesInSteps: true, opened: [0] }, [
      '0 c 868 3000 store trouble',
      '0 a 51 1 update',
      '0 c 877 1 server down',
      '0 a 780 70000 update',
      '0 a 32 1 undo',
    ]),
  ],
  [
    'a write that a tab stores just after the user has signed out in another ends as failed, and its user hears of it',
    told({ seed: 64497, mode: 'pages', channel: 'fine', tabs: 2, storeMs: 20, endsRestored: true }, [
      '1 c 139 300 put',
      '0 a 265 50 put',
      '1 a 913 1 sign out',
    ]),
  ],
  [
    'a tab closes within ten minutes, though the browser has closed its database at each write for long',
    told({ seed: 105751, mode: 'store', hasLocks: true, channel: 'faulty', tabs: 3, opened: [2, 1, 0] }, [
      '0 a 957 3000 update elsewhere',
      '2 a 446 3000 store trouble',
      '1 a 491 70000 delete',
      '1 a 927 300 close',
    ]),
  ],
  [
    'a page that stood still while it took the lead stores within half a minute what it receives',
    told(
      {
        seed: 115597,
        mode: 'pages',
        hasLocks: true,
        channel: 'fine',
        tabs: 2,
        hasSecondDevice: true,
        undoesInSteps: true,
        storeMs: 20,
        opened: [2, 1, 0],
      },
      ['2 a 928 70000 freeze', '2 c 655 1 ask for the data', '2 c 806 70000 stand still'],
    ),
  ],
  [
    'what two tabs wrote before the user cleared the disk is stored again by each, and arrives in either order',
    told(
      {
        seed: 210716,
        mode: 'store',
        hasLocks: true,
        channel: 'none',
        tabs: 2,
        storeMs: 20,
        endsRestored: true,
        opened: [1, 0],
      },
      ['0 a 410 300 cut', '1 a 796 3000 update', '0 b 359 1 update', '0 c 754 70000 clear the store'],
    ),
  ],
  [
    'an undo at a server that names no transactions in its frames takes back what was pushed before the answer',
    told(
      {
        mode: 'bare server',
        hasLocks: true,
        channel: 'fine',
        tabs: 3,
        opened: [0, 1, 2],
        bare: { deltas: 'frames', pushes: 'frames', pushAfterMs: 0 },
      },
      ['0 a 540 1 update', '0 a 37 3000 undo'],
    ),
  ],
  [
    'an undo in another tab is carried out at a server whose pushes come before its answers',
    told(
      {
        seed: 26,
        mode: 'bare server',
        hasLocks: true,
        channel: 'fine',
        tabs: 2,
        opened: [1, 0],
        bare: { deltas: 'rows', pushes: 'frames', pushAfterMs: -300, tx: true },
      },
      ['0 a 70 300 update', '1 c 287 50 undo'],
    ),
  ],
  [
    'a put that is undone at a server that sends whole rows can be done again',
    told(
      {
        seed: 72,
        mode: 'bare server',
        hasSecondDevice: true,
        undoesInSteps: true,
        storeMs: 20,
        opened: [1, 0],
        bare: { deltas: 'rows', pushes: 'rows', pushAfterMs: 300 },
      },
      ['0 a 561 1 delete elsewhere', '1 b 959 3000 put', '1 b 645 70000 undo', '1 b 353 70000 redo'],
    ),
  ],
  [
    'an undone removal comes back at a server without a socket that sends whole rows',
    told(
      {
        seed: 71,
        mode: 'bare server',
        hasLocks: true,
        channel: 'faulty',
        tabs: 3,
        hasSecondDevice: true,
        bare: { deltas: 'rows', socket: false, tx: true },
      },
      ['3 a 955 300 show', '3 a 375 1 delete', '2 a 916 3000 update elsewhere', '3 a 106 70000 undo'],
    ),
  ],
  [
    'the undo of a removal that came too late does not bring back what somebody else removed',
    told(
      {
        mode: 'bare server',
        hasLocks: true,
        channel: 'fine',
        undoesInSteps: true,
        storeMs: 20,
        opened: [0],
        bare: { deltas: 'frames', pushes: 'frames', pushAfterMs: 300, tx: true, since: true },
      },
      ['0 b 469 3000 update', '0 a 469 1 delete elsewhere', '0 a 13 70000 delete', '0 a 840 1 undo'],
    ),
  ],
  [
    'a write is not sent as another user after the store has refused to take the owner of the data',
    told(
      {
        seed: 35,
        mode: 'first writes',
        hasLocks: true,
        channel: 'faulty',
        endsRestored: true,
        opened: [0],
        refusedWrite: 1,
      },
      [
        '0 b 229 70000 cut',
        '0 b 228 1 update',
        '0 b 175 70000 close',
        '0 b 42 1 somebody else signs in',
        '0 b 519 300 cut',
        '0 c 158 300 update',
      ],
    ),
  ],
  [
    'a write is sent as its user, although another user had the session while the disk was read',
    told({ seed: 135, mode: 'other user', channel: 'faulty', storeMs: 20, opened: [0] }, [
      '0 b 169 50 somebody else signs in',
      '0 a 364 1 close',
      '0 a 455 1 open',
      '0 a 968 50 somebody else signs in',
      '0 a 470 1 put',
    ]),
  ],
  [
    'what a page wrote before its site data was evicted is sent before what it writes when it comes back',
    told({ mode: 'disk', tabs: 3, opened: [2, 1, 0], storeMs: 20 }, [
      '0 a 160 1 update',
      '0 a 441 1 cut',
      '0 a 648 300 update',
      '0 a 844 50 freeze',
      '0 a 43 1 clear the store',
      '0 a 492 50 update',
    ]),
  ],
  [
    'a write that another tab had sent when it was undone is taken back, though its frame comes while it is being cancelled',
    told(
      {
        mode: 'bare server',
        hasLocks: true,
        channel: 'faulty',
        tabs: 2,
        storeMs: 20,
        opened: [1, 0],
        undoesInSteps: true,
        bare: { deltas: 'frames', pushes: 'frame', pushAfterMs: 300, tx: true },
      },
      [
        '0 a 269 1 cut',
        '0 a 808 300 update',
        '0 a 96 3000 freeze',
        '0 a 991 300 clear the store',
        '0 a 799 3000 cut',
        '1 b 709 300 crash',
        '0 a 500 3000 undo',
      ],
    ),
  ],
  [
    'a redo is carried out if one of two tabs that do not hear each other makes it again',
    told(
      {
        mode: 'bare server',
        tabs: 2,
        undoesInSteps: true,
        bare: { deltas: 'rows', pushes: 'frames', pushAfterMs: -300, tx: true },
      },
      [
        '0 c 286 3000 redo',
        '1 c 217 3000 put elsewhere',
        '1 a 696 300 undo',
        '1 c 617 3000 put',
        '1 c 620 1 undo',
        '1 c 131 50 redo',
        '0 b 565 50 delete',
        '0 b 902 3000 update elsewhere',
      ],
    ),
  ],
  [
    'a write that is undone as its page finds its disk emptied is not called accepted before it is',
    told(
      {
        mode: 'bare server',
        hasLocks: true,
        storeMs: 20,
        opened: [0],
        bare: { deltas: 'rows', pushes: 'frames', pushAfterMs: -300 },
      },
      [
        '0 a 952 300 cut',
        '0 a 740 3000 update',
        '0 a 860 1 freeze',
        '0 a 175 300 clear the store',
        '0 a 244 300 cut',
        '0 c 104 3000 undo',
      ],
    ),
  ],
  [
    'what a page wrote before its site data was evicted is sent first, though the disk refuses to be opened at first',
    told(
      {
        seed: 5396,
        mode: 'disk',
        hasLocks: true,
        tabs: 2,
        hasSecondDevice: true,
        opened: [0, 1, 2],
        endsRestored: true,
      },
      [
        '1 b 904 70000 cut',
        '1 b 740 3000 update',
        '1 b 187 300 freeze',
        '1 b 890 3000 clear the store',
        '1 a 960 70000 refuse a store transaction',
        '1 a 724 70000 update',
      ],
    ),
  ],
  [
    'a tab that stood still while its leader filled the disk hears of changes when nobody looks at it',
    told({ mode: 'disk', hasLocks: true, channel: 'fine', tabs: 2, opened: [0, 1] }, [
      '0 a 613 1 fill the store',
      '0 a 722 1 update',
      '0 a 706 1 freeze',
      '0 a 553 1 update',
      '0 b 906 3000 stand still',
      '1 c 997 3000 open',
    ]),
  ],
  [
    'what a page wrote before its site data was evicted is sent before what it was just storing when it was frozen',
    told(
      {
        seed: 6300,
        mode: 'disk',
        tabs: 3,
        opened: [0, 1, 2],
        storeMs: 20,
        undoesInSteps: true,
        endsRestored: true,
      },
      [
        '2 a 500 1 cut',
        '2 a 250 1 update',
        '2 a 783 3000 linger',
        '1 a 739 3000 silence the store',
        '2 b 338 50 cut',
        '2 b 23 1 update',
        '2 b 33 3000 freeze',
        '2 b 672 1 clear the store',
      ],
    ),
  ],
  [
    'a redo that waited for the disk lays its write over what somebody else wrote before it was undone',
    told(
      {
        mode: 'undo',
        hasLocks: true,
        channel: 'fine',
        tabs: 2,
        undoesInSteps: true,
        storeMs: 20,
        opened: [1, 0],
      },
      [
        '1 a 202 1 silence the store',
        '1 a 93 300 update',
        '1 c 390 3000 undo',
        '1 a 933 50 cut',
        '1 a 706 300 update',
        '1 a 126 3000 update elsewhere',
        '1 a 98 50 cut',
        '1 a 704 300 undo',
        '1 a 959 300 redo',
      ],
    ),
  ],
  [
    'a redo adds its record although somebody else has removed another one of the same id',
    told({ mode: 'undo', channel: 'fine', undoesInSteps: true }, [
      '0 a 862 3000 cut',
      '0 a 789 300 insert',
      '0 a 849 1 undo',
      '0 a 886 300 cut',
      '0 a 767 3000 delete elsewhere',
      '0 a 805 1 redo',
    ]),
  ],
  [
    'an undo restores what its user saw if the snapshot of a restored server contains the write',
    told({ seed: 6303, channel: 'faulty', tabs: 2, opened: [1, 0] }, [
      '0 a 349 70000 delete elsewhere',
      '0 a 827 50 put',
      '0 c 251 3000 restore',
      '1 a 227 3000 update',
      '1 a 927 1 undo',
    ]),
  ],
  [
    'what a tab stored in a database without room is kept when another tab signs the user out',
    told({ seed: 6471, mode: 'disk', channel: 'faulty', tabs: 2, opened: [1, 0], refuses: true }, [
      '0 b 681 300 fill the store',
      '1 c 11 3000 clear the store',
      '1 a 987 1 die with the next write',
      '1 a 156 1 update',
      '0 a 833 1 sign out',
    ]),
  ],
  [
    'a synced write that a frozen page stores again, since its site data was evicted, is over there, too',
    told(
      { seed: 6785, mode: 'all', hasLocks: true, tabs: 3, opened: [2, 1, 0], storeMs: 20, refuses: true },
      [
        '0 a 868 1 cut',
        '0 b 477 3000 update',
        '2 c 923 1 cut',
        '2 c 994 70000 freeze',
        '2 c 589 300 clear the store',
        '2 c 765 1 cut',
        '0 a 136 50 undo',
        '2 a 62 3000 update',
        '1 b 620 3000 restore',
        '0 a 574 3000 show',
      ],
    ),
  ],
]
