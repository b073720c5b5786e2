"""Fourier transforms."""
import numpy as np

from cases import case, i64, normal


def dft(x, length=None, axis=-2, inverse=0, onesided=0):
    values = x[..., 0] + 1j * x[..., 1] if x.shape[-1] == 2 else x[..., 0].astype(complex)
    axis = int(axis) % x.ndim
    n = None if length is None else int(length)
    result = (np.fft.ifft if inverse else np.fft.fft)(values, n=n, axis=axis)
    if onesided:
        result = np.take(result, range(result.shape[axis] // 2 + 1), axis=axis)
    return np.stack([result.real, result.imag], axis=-1)


for shape, length, axis, inverse, onesided in (((2, 8, 2), None, 1, 0, 0), ((1, 6, 1), None, 1, 0, 1), ((3, 5, 2), None, 0, 1, 0),
                                               ((1, 4, 1), 7, 1, 0, 0), ((1, 9, 1), 6, 1, 0, 1), ((2, 3, 4, 2), None, 2, 0, 0),
                                               ((1, 7, 2), 5, 1, 1, 0)):
    inputs = [normal(*shape), None if length is None else np.array(length, np.int64), np.array(axis, np.int64)]
    case("DFT", inputs, inverse=inverse, onesided=onesided,
         forward=lambda x, n=None, a=-2, i=inverse, o=onesided: dft(x, n, a, i, o))


for shape, length, axis in (((1, 4, 2), None, 1), ((2, 4, 2), 7, 1), ((1, 5, 2), 6, 1), ((3, 2, 2), 8, 1), ((2, 3, 2, 2), 4, 1)):
    inputs = [normal(*shape), None if length is None else np.array(length, np.int64), np.array(axis, np.int64)]
    case("DFT", inputs, inverse=1, onesided=1,
         forward=lambda x, n=None, a=1: np.fft.irfft(x[..., 0] + 1j * x[..., 1], n=None if n is None else int(n), axis=int(a))[..., None])


def stft(signal, step, window=None, length=None, onesided=1):
    length = len(window) if length is None else int(length)
    signal = signal if signal.ndim == 3 else signal[..., None]
    count = (signal.shape[1] - length) // int(step) + 1
    frames = np.stack([signal[:, i * int(step):i * int(step) + length] for i in range(count)], axis=1)
    if window is not None:
        frames = frames * window[:, None]
    return dft(frames, axis=2, onesided=onesided)


for shape, step, window, length, onesided in (((1, 12, 1), 4, True, 4, 1), ((2, 9, 1), 2, True, None, 1), ((1, 10, 2), 3, True, 4, 0),
                                              ((1, 8, 1), 2, False, 4, 1), ((1, 16, 1), 8, True, 8, 0)):
    size = length or 5
    inputs = [normal(*shape), np.array(step, np.int64), normal(size, seed=1) if window else None,
              None if length is None else np.array(length, np.int64)]
    while inputs[-1] is None:
        inputs.pop()
    case("STFT", inputs, onesided=onesided, dynamic=False,
         forward=lambda s, n, w=None, l=None, o=onesided: stft(s, n, w, l, o))
