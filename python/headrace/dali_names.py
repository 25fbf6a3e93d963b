"""Names of DALI 2.4's operators below ``fn``, so that a missing one can be told from a misspelt one."""

DALI_OPERATORS = frozenset(
    """
    _conditional.merge _conditional.not_ _conditional.split _conditional.validate_logical
    audio_decoder audio_resample batch_permutation bb_flip bbox_paste bbox_rotate box_encoder brightness
    brightness_contrast caffe2_reader caffe_reader cast cast_like cat clahe coco_reader coin_flip
    color_space_conversion color_twist constant contrast coord_flip coord_transform copy crop crop_mirror_normalize
    debayer decoders.audio decoders.image decoders.image_crop decoders.image_random_crop decoders.image_slice
    decoders.inflate decoders.numpy decoders.video dl_tensor_python_function dump_image element_extract equalize
    erase expand_dims experimental.audio_resample experimental.debayer experimental.decoders.image
    experimental.decoders.image_crop experimental.decoders.image_random_crop experimental.decoders.image_slice
    experimental.decoders.video experimental.dilate experimental.equalize experimental.erode experimental.filter
    experimental.inflate experimental.inputs.video experimental.median_blur experimental.peek_image_shape
    experimental.readers.fits experimental.readers.video experimental.remap experimental.resize
    experimental.tensor_resize experimental.warp_perspective external_source fast_resize_crop_mirror file_reader
    filter flip full full_like gaussian_blur get_property grid_mask hsv hue image_decoder image_decoder_crop
    image_decoder_random_crop image_decoder_slice io.file.read jitter jpeg_compression_distortion laplacian
    lookup_table mel_filter_bank mfcc multi_paste mxnet_reader nemo_asr_reader noise.gaussian noise.salt_and_pepper
    noise.shot nonsilent_region normal_distribution normalize numpy_reader one_hot ones ones_like optical_flow pad
    paste peek_image_shape per_frame permute_batch power_spectrum preemphasis_filter python_function random.beta
    random.choice random.coin_flip random.normal random.uniform random_bbox_crop random_crop_generator
    random_resized_crop readers.caffe readers.caffe2 readers.coco readers.file readers.mxnet readers.nemo_asr
    readers.numpy readers.sequence readers.tfrecord readers.video readers.video_resize readers.webdataset
    reductions.max reductions.mean reductions.mean_square reductions.min reductions.rms reductions.std_dev
    reductions.sum reductions.variance reinterpret reshape resize resize_crop_mirror roi_random_crop rotate
    saturation segmentation.random_mask_pixel segmentation.random_object_bbox segmentation.select_masks
    sequence_reader sequence_rearrange shapes slice spectrogram sphere squeeze ssd_random_crop stack tensor_resize
    tfrecord_reader to_decibels transform_translation transforms.combine transforms.crop transforms.rotation
    transforms.scale transforms.shear transforms.translation transpose uniform video_reader video_reader_resize
    warp_affine water zeros zeros_like
    """.split()  # noqa: SIM905
)

DALI_MODULES = frozenset(name.rpartition(".")[0] for name in DALI_OPERATORS) - {""}
