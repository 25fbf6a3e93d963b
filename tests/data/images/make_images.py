"""Write the generated images of this folder and a reference PNG beside every image: what Pillow makes of it in RGB.

    python tests/data/images/make_images.py     needs Pillow 11 or later with libtiff, WebP and OpenJPEG

16-bit images hold RAMP16, which the tests compute again. The copied files (SOURCE.md) only get their references here.
"""

import pathlib

import numpy as np
from PIL import Image, ImageOps

HERE = pathlib.Path(__file__).parent
HEIGHT, WIDTH = 23, 37
Y, X = np.mgrid[0:HEIGHT, 0:WIDTH]
PICTURE = np.stack([X * 6 + Y, 255 - Y * 9, (X * Y) % 256], -1).astype(np.uint8)
ALPHA = ((X * 11 + Y * 5) % 256).astype(np.uint8)
RAMP16 = (X * 1777 + Y * 2851).astype(np.uint16)


def exif(orientation):
    data = Image.Exif()
    data[0x112] = orientation
    return data


def generated():
    rgb = Image.fromarray(PICTURE)
    rgba = Image.fromarray(np.dstack([PICTURE, ALPHA]))
    gray = rgb.convert("L")
    bits = rgb.convert("1")
    palette = rgb.quantize(16)
    ramp = Image.fromarray(RAMP16)
    yield "rgb.bmp", rgb, {}
    yield "gray.bmp", gray, {}
    yield "bits.bmp", bits, {}
    yield "palette.bmp", palette, {}
    yield "rgba.bmp", rgba, {}
    yield "rgb.ppm", rgb, {}
    yield "ramp16.pgm", ramp, {}
    yield "rgb_lzw.tif", rgb, {"compression": "tiff_lzw"}
    yield "rgb_jpeg.tif", rgb, {"compression": "jpeg", "quality": 90}
    yield "rgba_deflate.tif", rgba, {"compression": "tiff_deflate"}
    yield "palette.tif", palette, {}
    yield "cmyk_packbits.tif", rgb.convert("CMYK"), {"compression": "packbits"}
    yield "bits_group4.tif", bits, {"compression": "group4", "tiffinfo": {0x112: 5}}
    yield "ramp16.tif", ramp, {}
    yield "lossy.webp", rgb, {"quality": 80}
    yield "lossless.webp", rgb, {"lossless": True}
    yield "alpha_exif6.webp", rgba, {"lossless": True, "exact": True, "exif": exif(6)}
    yield "animated.webp", rgb, {"lossless": True, "save_all": True, "append_images": [ImageOps.flip(rgb)]}
    yield "rgb.jp2", rgb, {}
    yield "rgb_lossy.j2k", rgb, {"irreversible": True, "quality_layers": [4]}
    yield "rgba.jp2", rgba, {}
    yield "ramp16.jp2", ramp, {}
    yield "exif8.png", rgb, {"exif": exif(8)}
    yield "interlaced_palette.png", palette, {"bits": 4}


def main():
    for name, image, options in generated():
        image.save(HERE / name, **options)
    for file in sorted(HERE.iterdir()):
        if file.suffix in (".py", ".md", ".txt") or file.name.endswith(".ref.png"):
            continue
        image = Image.open(file)
        if image.mode.startswith("I"):
            continue
        reference = ImageOps.exif_transpose(image).convert("RGB")
        reference.save(file.with_name(file.name + ".ref.png"), exif=b"")


if __name__ == "__main__":
    main()
