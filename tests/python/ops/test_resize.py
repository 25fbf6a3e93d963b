"""resize."""

import golden


@golden.cases("resize", "resize_crop_mirror", "tensor_resize")
def test_golden(case):
    golden.check(case)
