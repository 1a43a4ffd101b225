-- Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
BEGIN TRANSACTION;
CREATE TABLE api_key (
        id TEXT PRIMARY KEY,
        tenant TEXT NOT NULL,
        hash TEXT NOT NULL UNIQUE,
        scope TEXT NOT NULL,
        label TEXT NOT NULL,
        created_unix_s REAL NOT NULL,
        expires_unix_s REAL,
        revoked_unix_s REAL
    , revoked_for_good INTEGER NOT NULL DEFAULT 0);
CREATE TABLE audit (
        seq INTEGER PRIMARY KEY,
        at_unix_s REAL NOT NULL,
        actor TEXT NOT NULL,
        key TEXT NOT NULL,
        action TEXT NOT NULL,
        facts TEXT NOT NULL,
        chain TEXT NOT NULL
    );
CREATE TABLE "blob" (
        tenant TEXT NOT NULL,
        sha256 TEXT NOT NULL,
        bytes INTEGER NOT NULL,
        PRIMARY KEY (tenant, sha256)
    ) WITHOUT ROWID;
INSERT INTO "blob" VALUES('alice','0f24414c78314b117896ff4e7f54f97cb9b934d583899ffd2975870a45dc4da1',64);
INSERT INTO "blob" VALUES('alice','66bd4633ed6f71c4ecfa4763bf7ba1c8ec7612de9aa6c0578a7b675207c71e0b',64);
INSERT INTO "blob" VALUES('alice','d8bc63b4fc1156e5e7d95a418b9bf54cd3174bedbc2db40f74895349b229b3c0',64);
INSERT INTO "blob" VALUES('alice','e83c93dde5801bd08659ed1bbfe6fa3886b5e3dc714e1cad1b9dbb3a35f7101f',64);
INSERT INTO "blob" VALUES('alice','fdeab9acf3710362bd2658cdc9a29e8f9c757fcf9811603a8c447cd1d9151108',64);
CREATE TABLE epoch (
        number INTEGER PRIMARY KEY,
        body TEXT NOT NULL
    );
CREATE TABLE event (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        job INTEGER NOT NULL,
        tenant TEXT NOT NULL,
        at_s REAL NOT NULL,
        what TEXT NOT NULL,
        state TEXT,
        slot INTEGER,
        task INTEGER,
        item INTEGER,
        started_s REAL,
        detail TEXT NOT NULL DEFAULT ''
    );
INSERT INTO "event" VALUES(1,1,'alice',0.0,'submitted',NULL,NULL,NULL,NULL,NULL,'');
INSERT INTO "event" VALUES(2,2,'alice',0.0,'submitted',NULL,NULL,NULL,NULL,NULL,'');
INSERT INTO "event" VALUES(3,1,'alice',0.0,'configure',NULL,0,0,NULL,NULL,'');
INSERT INTO "event" VALUES(4,1,'alice',0.0,'state','placed',NULL,NULL,NULL,NULL,'');
INSERT INTO "event" VALUES(5,1,'alice',0.0,'state','reconfiguring',NULL,NULL,NULL,NULL,'');
INSERT INTO "event" VALUES(6,1,'alice',0.001,'configured',NULL,0,0,NULL,0.0,'');
INSERT INTO "event" VALUES(7,1,'alice',0.001,'launch',NULL,0,0,0,NULL,'');
INSERT INTO "event" VALUES(8,1,'alice',0.001,'state','running',NULL,NULL,NULL,NULL,'');
INSERT INTO "event" VALUES(9,2,'alice',0.001,'configure',NULL,1,0,NULL,NULL,'');
INSERT INTO "event" VALUES(10,2,'alice',0.001,'state','placed',NULL,NULL,NULL,NULL,'');
INSERT INTO "event" VALUES(11,2,'alice',0.001,'state','reconfiguring',NULL,NULL,NULL,NULL,'');
INSERT INTO "event" VALUES(12,2,'alice',2.10000000000000030392e-03,'configured',NULL,1,0,NULL,0.001,'');
INSERT INTO "event" VALUES(13,2,'alice',2.10000000000000030392e-03,'launch',NULL,1,0,0,NULL,'');
INSERT INTO "event" VALUES(14,2,'alice',2.10000000000000030392e-03,'state','running',NULL,NULL,NULL,NULL,'');
INSERT INTO "event" VALUES(15,1,'alice',0.003,'item_done',NULL,0,0,0,0.001,'');
INSERT INTO "event" VALUES(16,1,'alice',0.003,'release',NULL,0,0,NULL,NULL,'');
INSERT INTO "event" VALUES(17,1,'alice',0.003,'configure',NULL,2,1,NULL,NULL,'');
INSERT INTO "event" VALUES(18,1,'alice',0.003,'state','reconfiguring',NULL,NULL,NULL,NULL,'');
INSERT INTO "event" VALUES(19,2,'alice',0.0041,'item_done',NULL,1,0,0,2.10000000000000030392e-03,'');
INSERT INTO "event" VALUES(20,2,'alice',0.0041,'release',NULL,1,0,NULL,NULL,'');
INSERT INTO "event" VALUES(21,2,'alice',0.0041,'state','placed',NULL,NULL,NULL,NULL,'');
INSERT INTO "event" VALUES(22,2,'alice',0.0041,'wait',NULL,NULL,NULL,NULL,NULL,'slot');
INSERT INTO "event" VALUES(23,1,'alice',0.0042,'configured',NULL,2,1,NULL,0.003,'');
INSERT INTO "event" VALUES(24,1,'alice',0.0042,'launch',NULL,2,1,0,NULL,'');
INSERT INTO "event" VALUES(25,2,'alice',0.0042,'configure',NULL,0,1,NULL,NULL,'');
INSERT INTO "event" VALUES(26,1,'alice',0.0042,'state','running',NULL,NULL,NULL,NULL,'');
INSERT INTO "event" VALUES(27,2,'alice',0.0042,'state','reconfiguring',NULL,NULL,NULL,NULL,'');
INSERT INTO "event" VALUES(28,2,'alice',0.0052,'configured',NULL,0,1,NULL,0.0042,'');
INSERT INTO "event" VALUES(29,2,'alice',0.0052,'launch',NULL,0,1,0,NULL,'');
INSERT INTO "event" VALUES(30,2,'alice',0.0052,'state','running',NULL,NULL,NULL,NULL,'');
INSERT INTO "event" VALUES(31,1,'alice',0.0072,'item_done',NULL,2,1,0,0.0042,'');
INSERT INTO "event" VALUES(32,1,'alice',0.0072,'release',NULL,2,1,NULL,NULL,'');
INSERT INTO "event" VALUES(33,1,'alice',0.0072,'configure',NULL,1,2,NULL,NULL,'');
INSERT INTO "event" VALUES(34,1,'alice',0.0072,'state','reconfiguring',NULL,NULL,NULL,NULL,'');
INSERT INTO "event" VALUES(35,2,'alice',8.19999999999999895639e-03,'item_done',NULL,0,1,0,0.0052,'');
INSERT INTO "event" VALUES(36,2,'alice',8.19999999999999895639e-03,'release',NULL,0,1,NULL,NULL,'');
INSERT INTO "event" VALUES(37,2,'alice',8.19999999999999895639e-03,'state','placed',NULL,NULL,NULL,NULL,'');
INSERT INTO "event" VALUES(38,2,'alice',8.19999999999999895639e-03,'wait',NULL,NULL,NULL,NULL,NULL,'slot');
INSERT INTO "event" VALUES(39,1,'alice',0.0083,'configured',NULL,1,2,NULL,0.0072,'');
INSERT INTO "event" VALUES(40,1,'alice',0.0083,'launch',NULL,1,2,0,NULL,'');
INSERT INTO "event" VALUES(41,2,'alice',0.0083,'configure',NULL,0,2,NULL,NULL,'');
INSERT INTO "event" VALUES(42,1,'alice',0.0083,'state','running',NULL,NULL,NULL,NULL,'');
INSERT INTO "event" VALUES(43,2,'alice',0.0083,'state','reconfiguring',NULL,NULL,NULL,NULL,'');
INSERT INTO "event" VALUES(44,1,'alice',0.0093,'item_done',NULL,1,2,0,0.0083,'');
INSERT INTO "event" VALUES(45,1,'alice',0.0093,'release',NULL,1,2,NULL,NULL,'');
INSERT INTO "event" VALUES(46,2,'alice',0.0093,'configured',NULL,0,2,NULL,0.0083,'');
INSERT INTO "event" VALUES(47,2,'alice',0.0093,'launch',NULL,0,2,0,NULL,'');
INSERT INTO "event" VALUES(48,2,'alice',0.0093,'state','running',NULL,NULL,NULL,NULL,'');
INSERT INTO "event" VALUES(49,1,'alice',0.0093,'result',NULL,NULL,NULL,0,NULL,'');
INSERT INTO "event" VALUES(50,1,'alice',0.0093,'state','succeeded',NULL,NULL,NULL,NULL,'');
INSERT INTO "event" VALUES(51,2,'alice',0.0103,'item_done',NULL,0,2,0,0.0093,'');
INSERT INTO "event" VALUES(52,2,'alice',0.0103,'release',NULL,0,2,NULL,NULL,'');
INSERT INTO "event" VALUES(53,2,'alice',0.0103,'result',NULL,NULL,NULL,0,NULL,'');
INSERT INTO "event" VALUES(54,2,'alice',0.0103,'state','succeeded',NULL,NULL,NULL,NULL,'');
INSERT INTO "event" VALUES(55,3,'alice',0.0103,'submitted',NULL,NULL,NULL,NULL,NULL,'');
INSERT INTO "event" VALUES(56,4,'alice',0.0103,'submitted',NULL,NULL,NULL,NULL,NULL,'');
INSERT INTO "event" VALUES(57,5,'alice',0.0103,'submitted',NULL,NULL,NULL,NULL,NULL,'');
INSERT INTO "event" VALUES(58,6,'alice',0.0103,'submitted',NULL,NULL,NULL,NULL,NULL,'');
CREATE TABLE held (
        job INTEGER PRIMARY KEY REFERENCES job (id),
        tenant TEXT NOT NULL,
        bytes INTEGER NOT NULL
    );
CREATE TABLE idempotency (
        tenant TEXT NOT NULL,
        key TEXT NOT NULL,
        body TEXT NOT NULL,
        job INTEGER NOT NULL REFERENCES job (id),
        PRIMARY KEY (tenant, key)
    ) WITHOUT ROWID;
INSERT INTO "idempotency" VALUES('alice','once','f399cea8fcdfd87753d1cf2fbdb869b11cfd203d497b7c95557869d52f6c390b',3);
CREATE TABLE job (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        tenant TEXT NOT NULL,
        state TEXT NOT NULL,
        final INTEGER NOT NULL DEFAULT 0,
        cancel INTEGER NOT NULL DEFAULT 0,
        request TEXT NOT NULL,
        record TEXT NOT NULL,
        snapshot TEXT NOT NULL DEFAULT '{}'
    , submitted_us INTEGER NOT NULL DEFAULT 0, application TEXT NOT NULL DEFAULT '', ended_us INTEGER, array INTEGER);
INSERT INTO "job" VALUES(1,'alice','succeeded',1,0,'{"application": "chain", "batch": 1, "constants": {"key": "fdeab9acf3710362bd2658cdc9a29e8f9c757fcf9811603a8c447cd1d9151108"}, "deadline_s": null, "inputs": {"in": ["d8bc63b4fc1156e5e7d95a418b9bf54cd3174bedbc2db40f74895349b229b3c0"]}, "priority": 1, "tenant": "alice"}','{"id": 1, "tenant": "alice", "application": "chain", "batch": 1, "priority": 1, "state": "succeeded", "submitted_unix_s": 1795904816.0400457, "arrival_s": 0.0, "deadline_s": null, "started_s": 0.0, "ended_s": 0.0093, "waiting_s": {}, "reconfiguring_s": 0.0033, "running_s": 0.005999999999999999, "reconfigurations": 3, "reuses": 0, "preemptions": 0, "items_done": 1, "cause": "", "detail": "", "failed_task": null, "failed_item": null, "ended_unix_s": 1795904816.0522115, "asked": {"array": [1, 0, 2]}}','{"done": [1, 1, 1], "attempts": [0, 0, 0], "memory": true, "preempted": false, "ending": "", "bucket": "slot", "since_s": 0.0093}',1795904816040046,'chain',9300,1);
INSERT INTO "job" VALUES(2,'alice','succeeded',1,0,'{"application": "chain", "batch": 1, "constants": {"key": "fdeab9acf3710362bd2658cdc9a29e8f9c757fcf9811603a8c447cd1d9151108"}, "deadline_s": null, "inputs": {"in": ["66bd4633ed6f71c4ecfa4763bf7ba1c8ec7612de9aa6c0578a7b675207c71e0b"]}, "priority": 1, "tenant": "alice"}','{"id": 2, "tenant": "alice", "application": "chain", "batch": 1, "priority": 1, "state": "succeeded", "submitted_unix_s": 1795904816.0401514, "arrival_s": 0.0, "deadline_s": null, "started_s": 0.001, "ended_s": 0.0103, "waiting_s": {"slot": 0.0012000000000000005}, "reconfiguring_s": 0.0030999999999999995, "running_s": 0.006, "reconfigurations": 3, "reuses": 0, "preemptions": 0, "items_done": 1, "cause": "", "detail": "", "failed_task": null, "failed_item": null, "ended_unix_s": 1795904816.0553093, "asked": {"array": [1, 1, 2]}}','{"done": [1, 1, 1], "attempts": [0, 0, 0], "memory": true, "preempted": false, "ending": "", "bucket": "slot", "since_s": 0.0103}',1795904816040151,'chain',10300,1);
INSERT INTO "job" VALUES(3,'alice','queued',0,0,'{"application": "chain", "batch": 1, "constants": {"key": "fdeab9acf3710362bd2658cdc9a29e8f9c757fcf9811603a8c447cd1d9151108"}, "deadline_s": null, "inputs": {"in": ["d8bc63b4fc1156e5e7d95a418b9bf54cd3174bedbc2db40f74895349b229b3c0"]}, "priority": 1, "tenant": "alice"}','{"id": 3, "tenant": "alice", "application": "chain", "batch": 1, "priority": 1, "state": "queued", "submitted_unix_s": 1795904816.0666947, "arrival_s": 0.0103, "deadline_s": null, "started_s": null, "ended_s": null, "waiting_s": {}, "reconfiguring_s": 0.0, "running_s": 0.0, "reconfigurations": 0, "reuses": 0, "preemptions": 0, "items_done": 0, "cause": "", "detail": "", "failed_task": null, "failed_item": null, "asked": {"array": [3, 0, 3]}}','{}',1795904816066695,'chain',NULL,3);
INSERT INTO "job" VALUES(4,'alice','queued',0,0,'{"application": "chain", "batch": 1, "constants": {"key": "fdeab9acf3710362bd2658cdc9a29e8f9c757fcf9811603a8c447cd1d9151108"}, "deadline_s": null, "inputs": {"in": ["66bd4633ed6f71c4ecfa4763bf7ba1c8ec7612de9aa6c0578a7b675207c71e0b"]}, "priority": 1, "tenant": "alice"}','{"id": 4, "tenant": "alice", "application": "chain", "batch": 1, "priority": 1, "state": "queued", "submitted_unix_s": 1795904816.0667622, "arrival_s": 0.0103, "deadline_s": null, "started_s": null, "ended_s": null, "waiting_s": {}, "reconfiguring_s": 0.0, "running_s": 0.0, "reconfigurations": 0, "reuses": 0, "preemptions": 0, "items_done": 0, "cause": "", "detail": "", "failed_task": null, "failed_item": null, "asked": {"array": [3, 1, 3]}}','{}',1795904816066762,'chain',NULL,3);
INSERT INTO "job" VALUES(5,'alice','queued',0,0,'{"application": "chain", "batch": 1, "constants": {"key": "fdeab9acf3710362bd2658cdc9a29e8f9c757fcf9811603a8c447cd1d9151108"}, "deadline_s": null, "inputs": {"in": ["0f24414c78314b117896ff4e7f54f97cb9b934d583899ffd2975870a45dc4da1"]}, "priority": 1, "tenant": "alice"}','{"id": 5, "tenant": "alice", "application": "chain", "batch": 1, "priority": 1, "state": "queued", "submitted_unix_s": 1795904816.066823, "arrival_s": 0.0103, "deadline_s": null, "started_s": null, "ended_s": null, "waiting_s": {}, "reconfiguring_s": 0.0, "running_s": 0.0, "reconfigurations": 0, "reuses": 0, "preemptions": 0, "items_done": 0, "cause": "", "detail": "", "failed_task": null, "failed_item": null, "asked": {"array": [3, 2, 3]}}','{}',1795904816066823,'chain',NULL,3);
INSERT INTO "job" VALUES(6,'alice','queued',0,0,'{"application": "chain", "asked": {"after": [3]}, "batch": 1, "constants": {"key": "fdeab9acf3710362bd2658cdc9a29e8f9c757fcf9811603a8c447cd1d9151108"}, "deadline_s": null, "inputs": {"in": ["e83c93dde5801bd08659ed1bbfe6fa3886b5e3dc714e1cad1b9dbb3a35f7101f"]}, "priority": 1, "tenant": "alice"}','{"id": 6, "tenant": "alice", "application": "chain", "batch": 1, "priority": 1, "state": "queued", "submitted_unix_s": 1795904816.0703692, "arrival_s": 0.0103, "deadline_s": null, "started_s": null, "ended_s": null, "waiting_s": {}, "reconfiguring_s": 0.0, "running_s": 0.0, "reconfigurations": 0, "reuses": 0, "preemptions": 0, "items_done": 0, "cause": "", "detail": "", "failed_task": null, "failed_item": null, "asked": {"after": [3]}}','{}',1795904816070369,'chain',NULL,NULL);
CREATE TABLE label (
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    submitted_us INTEGER NOT NULL,
    job INTEGER NOT NULL REFERENCES job (id),
    PRIMARY KEY (tenant, name, value, submitted_us, job)
) WITHOUT ROWID
;
CREATE TABLE meta (
        key TEXT PRIMARY KEY,
        value TEXT NOT NULL
    ) WITHOUT ROWID;
INSERT INTO "meta" VALUES('accounted_before_ns','0');
INSERT INTO "meta" VALUES('accounted_from_ns','0');
INSERT INTO "meta" VALUES('accounted_ns','0');
INSERT INTO "meta" VALUES('accounted_slots','4');
INSERT INTO "meta" VALUES('now_s','0.0103');
INSERT INTO "meta" VALUES('numbering','{"key": "1d4df2958a47c5e9b7626b1e36b1f844af02af968936db96b2f3b5ed1c2367c0", "job": 1, "event": 1}');
INSERT INTO "meta" VALUES('offset_s','0.0');
INSERT INTO "meta" VALUES('seen','11');
CREATE TABLE program (
        job INTEGER PRIMARY KEY REFERENCES job (id),
        body TEXT NOT NULL
    );
CREATE TABLE "result" (
        job INTEGER NOT NULL REFERENCES job (id),
        name TEXT NOT NULL,
        item INTEGER NOT NULL,
        place INTEGER NOT NULL,
        bytes INTEGER NOT NULL,
        sha256 TEXT NOT NULL,
        PRIMARY KEY (job, name, item)
    ) WITHOUT ROWID;
INSERT INTO "result" VALUES(1,'out',0,0,64,'b1ca94738075a6a54331d4aeea3a0a530f4cb420c5772032473c267b12452fa8');
INSERT INTO "result" VALUES(2,'out',0,0,64,'66a2f81f4cd28309e3d8d2f028da177473a8db6c23c41ebada5fceae0a81ca3d');
CREATE TABLE slot (
        slot INTEGER PRIMARY KEY,
        snapshot TEXT NOT NULL
    );
INSERT INTO "slot" VALUES(0,'{"module": "flip", "tenant": "alice", "phase": "free", "job": null, "task": null, "item": null, "leaving": false, "scrubbing": false, "since_s": 0.0103}');
INSERT INTO "slot" VALUES(1,'{"module": "flip", "tenant": "alice", "phase": "free", "job": null, "task": null, "item": null, "leaving": false, "scrubbing": false, "since_s": 0.0093}');
INSERT INTO "slot" VALUES(2,'{"module": "mix", "tenant": "alice", "phase": "free", "job": null, "task": null, "item": null, "leaving": false, "scrubbing": false, "since_s": 0.0072}');
CREATE TABLE tenant (
        id TEXT PRIMARY KEY,
        key_hash TEXT NOT NULL DEFAULT '',
        admin INTEGER NOT NULL DEFAULT 0,
        max_jobs INTEGER NOT NULL,
        max_blob_bytes INTEGER NOT NULL,
        attributes TEXT NOT NULL DEFAULT '{}'
    , bounds TEXT NOT NULL DEFAULT '{}');
CREATE TABLE usage (
        day TEXT NOT NULL,
        tenant TEXT NOT NULL,
        slot INTEGER NOT NULL,
        unit TEXT NOT NULL,
        ns INTEGER NOT NULL,
        PRIMARY KEY (day, tenant, slot, unit)
    ) WITHOUT ROWID;
CREATE INDEX tenant_by_key ON tenant (key_hash);
CREATE INDEX job_unfinished ON job (id) WHERE final = 0;
CREATE INDEX event_by_job ON event (job, seq);
CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit
        BEGIN SELECT RAISE(ABORT, 'the audit log is only added to'); END;
CREATE TRIGGER audit_is_not_cut BEFORE DELETE ON audit
        BEGIN SELECT RAISE(ABORT, 'the audit log is only added to'); END;
CREATE INDEX job_in_order ON job (submitted_us, id);
CREATE INDEX job_by_tenant ON job (tenant, submitted_us, id);
CREATE INDEX job_by_state ON job (state, submitted_us, id);
CREATE INDEX job_by_tenant_and_state ON job (tenant, state, submitted_us, id);
CREATE INDEX job_by_application ON job (application, submitted_us, id);
CREATE INDEX job_by_tenant_and_application ON job (tenant, application, submitted_us, id);
CREATE INDEX job_by_end ON job (ended_us, id) WHERE ended_us IS NOT NULL;
CREATE INDEX job_by_tenant_and_end ON job (tenant, ended_us, id) WHERE ended_us IS NOT NULL;
CREATE INDEX job_by_array ON job (array, submitted_us, id) WHERE array IS NOT NULL;
CREATE INDEX label_of_anybody ON label (name, value, submitted_us, job)
;
CREATE INDEX event_by_tenant ON event (tenant, seq);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('job',6);
INSERT INTO "sqlite_sequence" VALUES('event',58);
COMMIT;
PRAGMA user_version = 12;
