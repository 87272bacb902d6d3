"""Runs Debian's redis-py, Celery and RQ, unmodified, against a server:

    run.py PORT

The exit status is 0 only if all passed.
"""
import subprocess
import sys
import tempfile
import textwrap
import time
import traceback

import redis

PORT = int(sys.argv[1])
URL = f"redis://127.0.0.1:{PORT}/"


def redis_py():
    r = redis.Redis(port=PORT, decode_responses=True)
    r.flushall()
    assert r.set("k", "v", ex=100) and r.get("k") == "v"
    with r.pipeline(transaction=True) as p:
        p.incr("n").hset("h", mapping={"a": 1}).rpush("l", 1, 2).sadd("s", "x").zadd("z", {"m": 1.5})
        assert p.execute() == [1, 1, 2, 1, 1]

    def double(p):
        n = int(p.get("n"))
        p.multi()
        p.set("n", 2 * n)

    assert r.transaction(double, "n") == [True] and r.get("n") == "2"
    assert r.zrange("z", 0, -1, withscores=True) == [("m", 1.5)]
    entry = r.xadd("st", {"f": "v"})
    r.xgroup_create("st", "g", id="0")
    assert r.xreadgroup("g", "c", {"st": ">"}) == [["st", [(entry, {"f": "v"})]]]
    assert r.xack("st", "g", entry) == 1
    twice = r.register_script("return redis.call('incrby', KEYS[1], ARGV[1] * 2)")
    assert twice(keys=["n"], args=[4]) == 10
    with r.lock("lock", timeout=5, blocking_timeout=1) as held:
        assert held.owned() and not r.lock("lock", timeout=5).acquire(blocking=False)
    heard = r.pubsub()
    heard.psubscribe("news.*")
    heard.get_message(timeout=5)
    r.publish("news.x", "hello")
    assert heard.get_message(timeout=5)["data"] == "hello"
    assert sorted(r.scan_iter("*", count=2)) == ["h", "k", "l", "n", "s", "st", "z"]
    assert r.info("server")["redis_version"].startswith("7.0")
    assert r.geoadd("g", (13.361389, 38.115556, "Palermo")) == 1 and r.pfadd("p", 1, 2) == 1
    heard.close()


def celery():
    with tempfile.TemporaryDirectory() as place:
        with open(f"{place}/jobs.py", "w") as f:
            f.write(textwrap.dedent(f"""
                from celery import Celery, chord
                app = Celery("jobs", broker="{URL}1", backend="{URL}2")
                app.conf.worker_hijack_root_logger = False
                @app.task
                def add(x, y): return x + y
                @app.task
                def total(numbers): return sum(numbers)
                @app.task(bind=True, max_retries=3)
                def flaky(self):
                    if self.request.retries < 1: raise self.retry(countdown=0.1)
                    return "done"
            """))
        sys.path.insert(0, place)
        worker = subprocess.Popen([sys.executable, "-m", "celery", "-A", "jobs", "worker", "-c", "2", "-P", "threads", "--without-gossip"],
                                  cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            import jobs
            from celery import chord, group
            assert [jobs.add.delay(n, 1).get(timeout=60) for n in range(5)] == [1, 2, 3, 4, 5]
            assert chord(group(jobs.add.s(n, n) for n in range(5)))(jobs.total.s()).get(timeout=60) == 20
            assert jobs.flaky.delay().get(timeout=60) == "done"
        finally:
            worker.terminate()
            worker.wait()


def rq():
    from rq import Queue, SimpleWorker
    r = redis.Redis(port=PORT, db=3)
    queue = Queue(connection=r)
    jobs = [queue.enqueue(divmod, n, 3) for n in range(10)]
    SimpleWorker([queue], connection=r).work(burst=True)
    assert [job.result for job in jobs] == [divmod(n, 3) for n in range(10)]
    assert queue.count == 0


failed = 0
for name, check in (("redis-py", redis_py), ("celery", celery), ("rq", rq)):
    try:
        check()
        print("ok  ", name, flush=True)
    except Exception:
        failed += 1
        print("FAIL", name, flush=True)
        traceback.print_exc()
sys.exit(failed)
