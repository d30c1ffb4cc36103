"""Trains a tiny recommender; the callback after each row makes it crash."""
import queue
import threading
import time

from tinyals.als import AlternatingLeastSquares

batches = queue.Queue()
model_lock = threading.Lock()


def load_batches():
    while True:
        batch = batches.get()
        print("loaded", batch)


def heartbeat(seconds):
    while True:
        time.sleep(seconds)


def save_checkpoint():
    with model_lock:
        print("saved")


class Progress:
    def __init__(self, model):
        self.model = model

    def __call__(self, row):
        # From the third row on the workspace is gone.
        if row == 2:
            self.model.workspace = None
        self.model.rescale(row, factor=0.5)


def main():
    for number in range(3):
        threading.Thread(target=load_batches, name="loader-%d" % number, daemon=True).start()
    threading.Thread(target=heartbeat, args=(60,), name="heartbeat", daemon=True).start()
    with model_lock:
        threading.Thread(target=save_checkpoint, name="checkpoint", daemon=True).start()
        time.sleep(0.3)
        model = AlternatingLeastSquares(factors=8)
        model.callbacks.append(Progress(model))
        model.fit([[5.0, 0.0, 1.0], [0.0, 3.0, 0.0], [1.0, 0.0, 4.0]])


if __name__ == "__main__":
    main()
