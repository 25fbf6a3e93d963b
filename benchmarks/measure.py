"""One measurement of whatever `nvidia.dali` resolves to, printed as JSON. benchmarks/run.py calls it; see there.

python measure.py ROW FOLDER THREADS SECONDS

The rows "bare_..." need simplejpeg instead of DALI. FOLDER holds an LMDB of MNIST, or folders of photos for the rows
that begin with "photos" and "bare_photos".
"""

import json
import os
import resource
import sys
import time

PHOTOS_BATCH = 64


def _mnist_pipeline(folder, threads, batch_size=50, **cache):
    import nvidia.dali.fn as fn
    from nvidia.dali import pipeline_def, types

    @pipeline_def(batch_size=batch_size, num_threads=threads, device_id=None, seed=1)
    def pipeline():
        jpegs, labels = fn.readers.caffe2(path=folder, random_shuffle=True, name="reader")
        images = fn.decoders.image(jpegs, output_type=types.GRAY, **cache)
        images = fn.crop_mirror_normalize(images, dtype=types.FLOAT, std=[255.0])
        return fn.reshape(images, shape=[-1]), fn.one_hot(labels, num_classes=10)

    pipe = pipeline()
    pipe.build()
    return pipe


def _trivial_pipeline(threads, batch_size):
    import nvidia.dali.fn as fn
    from nvidia.dali import pipeline_def

    @pipeline_def(batch_size=batch_size, num_threads=threads, device_id=None, seed=1)
    def pipeline():
        return fn.random.coin_flip()

    pipe = pipeline()
    pipe.build()
    return pipe


def _photos_pipeline(folder, threads, kind):
    import nvidia.dali.fn as fn
    from nvidia.dali import pipeline_def, types

    normalise = {
        "dtype": types.FLOAT,
        "output_layout": "CHW",
        "mean": [0.485 * 255, 0.456 * 255, 0.406 * 255],
        "std": [0.229 * 255, 0.224 * 255, 0.225 * 255],
    }

    @pipeline_def(batch_size=PHOTOS_BATCH, num_threads=threads, device_id=None, seed=1)
    def pipeline():
        jpegs, labels = fn.readers.file(file_root=folder, random_shuffle=True, name="reader")
        if kind == "decode":
            return fn.decoders.image(jpegs), labels
        if kind == "train":
            images = fn.decoders.image_random_crop(jpegs)
            images = fn.resize(images, size=(224, 224))
            mirror = fn.random.coin_flip()
            return fn.crop_mirror_normalize(images, mirror=mirror, **normalise), labels
        images = fn.resize(fn.decoders.image(jpegs), resize_shorter=256)
        return fn.crop_mirror_normalize(images, crop=(224, 224), **normalise), labels

    pipe = pipeline()
    pipe.build()
    return pipe


def _seconds_per_run(pipe, seconds, at_once=10):
    for _ in range(2 * at_once):
        pipe.run()
    runs, begin = 0, time.perf_counter()
    while True:
        for _ in range(at_once):
            pipe.run()
        runs += at_once
        elapsed = time.perf_counter() - begin
        if elapsed > seconds:
            return elapsed / runs


def mnist(folder, threads, seconds):
    """Samples per second of `pipe.run()`, batch 50."""
    return 50 / _seconds_per_run(_mnist_pipeline(folder, threads), seconds)


def mnist_cached(folder, threads, seconds):
    """The same from the second epoch, with a cache of decoded images that holds all of them."""
    pipe = _mnist_pipeline(folder, threads, cache_size=64)
    for _ in range(-(-pipe.epoch_size("reader") // 50)):
        pipe.run()
    return 50 / _seconds_per_run(pipe, seconds)


def trivial_batch(folder, threads, seconds):
    """Microseconds per batch of a pipeline that flips one coin, batch 1."""
    return 1e6 * _seconds_per_run(_trivial_pipeline(threads, 1), seconds)


def trivial_sample(folder, threads, seconds):
    """Microseconds per further sample of that pipeline: batch 1,001 against batch 1."""
    small = _seconds_per_run(_trivial_pipeline(threads, 1), seconds / 2)
    large = _seconds_per_run(_trivial_pipeline(threads, 1001), seconds / 2)
    return 1e6 * (large - small) / 1000


def first_batch(folder, threads, seconds):
    """Seconds from the start of the process, interpreter and imports included, to the first batch."""
    _mnist_pipeline(folder, threads).run()
    with open("/proc/self/stat") as file:
        start_ticks = int(file.read().rpartition(")")[2].split()[19])
    return time.clock_gettime(time.CLOCK_BOOTTIME) - start_ticks / os.sysconf("SC_CLK_TCK")


def peak_memory(folder, threads, seconds):
    """MB of resident memory at the peak, after 200 batches."""
    pipe = _mnist_pipeline(folder, threads)
    for _ in range(200):
        pipe.run()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def photos_train(folder, threads, seconds):
    """Images per second: a random crop decoded, resized to 224, mirrored, normalised to float CHW."""
    return PHOTOS_BATCH / _seconds_per_run(_photos_pipeline(folder, threads, "train"), seconds, 1)


def photos_eval(folder, threads, seconds):
    """Images per second: decoded, resized to 256 (shorter side), cropped to 224, normalised to float CHW."""
    return PHOTOS_BATCH / _seconds_per_run(_photos_pipeline(folder, threads, "eval"), seconds, 1)


def photos_decode(folder, threads, seconds):
    """Images per second, decoded to RGB."""
    return PHOTOS_BATCH / _seconds_per_run(_photos_pipeline(folder, threads, "decode"), seconds, 1)


def photos_memory(folder, threads, seconds):
    """MB of resident memory at the peak, after 2,000 images of the training pipeline."""
    pipe = _photos_pipeline(folder, threads, "train")
    for _ in range(-(-2000 // PHOTOS_BATCH)):
        pipe.run()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def jax_next(folder, threads, seconds):
    """Microseconds of next() of the JAX iterator while batches are ready: the hand-over alone, batch 50."""
    from nvidia.dali.plugin.jax import DALIGenericIterator

    iterator = DALIGenericIterator([_mnist_pipeline(folder, threads)], ["images", "labels"], reader_name="reader")
    for _ in range(20):
        next(iterator)
    spent, count, begin = 0.0, 0, time.perf_counter()
    while time.perf_counter() - begin < seconds:
        time.sleep(0.004)  # so that the prefetched batch is ready
        before = time.perf_counter()
        try:
            next(iterator)
        except StopIteration:
            iterator.reset()
            continue
        spent += time.perf_counter() - before
        count += 1
    return 1e6 * spent / count


def _rate(decode, files, seconds):
    """Files per second of decode(bytes), over and over."""
    done, begin = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - begin) < seconds:
        for file in files:
            decode(file)
        done += len(files)
    return done / elapsed


def bare_mnist(folder, threads, seconds):
    """Images per second of simplejpeg (libjpeg-turbo) alone, from memory: the digits of the LMDB."""
    import lmdb
    import simplejpeg

    with lmdb.open(folder, readonly=True, lock=False) as database, database.begin() as transaction:
        records = [record for _, (_, record) in zip(range(2000), transaction.cursor(), strict=False)]
    files = [record[record.index(b"\xff\xd8\xff") : record.rindex(b"\xff\xd9") + 2] for record in records]
    return _rate(lambda file: simplejpeg.decode_jpeg(file, colorspace="GRAY"), files, seconds)


def bare_photos(folder, threads, seconds):
    """Images per second of simplejpeg (libjpeg-turbo) alone, from memory: whole photos to RGB, in so many threads."""
    import concurrent.futures
    import pathlib

    import simplejpeg

    files = [path.read_bytes() for path in sorted(pathlib.Path(folder).rglob("*")) if path.is_file()]
    files = [file for file in files if file[:3] == b"\xff\xd8\xff"]
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        rates = pool.map(lambda _: _rate(simplejpeg.decode_jpeg, files, seconds), range(threads))
        return sum(rates)


ROWS = {
    row.__name__: row
    for row in (
        bare_mnist,
        bare_photos,
        mnist,
        mnist_cached,
        trivial_batch,
        trivial_sample,
        first_batch,
        peak_memory,
        jax_next,
        photos_train,
        photos_eval,
        photos_decode,
        photos_memory,
    )
}

if __name__ == "__main__":
    name, folder, threads, seconds = sys.argv[1:]
    print(json.dumps(ROWS[name](folder, int(threads), float(seconds))))
