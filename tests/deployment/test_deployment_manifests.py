"""Containers and manifests: compose, Kubernetes, charts, KServe, Dynamo, Dockerfiles, units."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvgate.deployment import Deployment, deployments, form_of, node_of
from kvgate.errors import InputError
from kvgate.manifests import documents, read_deployments


def read(text: str, path: str = "<command line>") -> tuple[Deployment, ...]:
    return read_deployments(text, path)


def one(text: str, path: str = "<command line>") -> Deployment:
    (found,) = read(text, path)
    return found


def codes(deployment: Deployment) -> list[str]:
    return [p.code for p in deployment.problems]


# -- docker run


@pytest.mark.parametrize(
    ("command", "launcher", "version"),
    [
        ("docker run --gpus all vllm/vllm-openai:v0.20.2 --model org/m", "vllm serve", "0.20.2"),
        ("docker run --rm -it -p8000:8000 vllm/vllm-openai:v0.20.2 org/m", "vllm serve", "0.20.2"),
        (
            "sudo podman run --device nvidia.com/gpu=all docker.io/vllm/vllm-openai:v0.20.2-cu130 "
            "--model=org/m",
            "vllm serve",
            "0.20.2",
        ),
        (
            "docker container run -d lmsysorg/sglang:v0.5.23-cu129 "
            "python3 -m sglang.launch_server --model-path org/m",
            "sglang.launch_server",
            "0.5.23",
        ),
        (
            "docker run --entrypoint bash vllm/vllm-openai:v0.20.2 -c 'x=1; vllm serve org/m'",
            "vllm serve",
            "0.20.2",
        ),
        (
            "docker run ghcr.io/ggml-org/llama.cpp:server-cuda-b9600 -m org/m",
            "llama-server",
            "9600",
        ),
        (
            "docker run ghcr.io/ggml-org/llama.cpp:full-b9600 --server -m org/m",
            "llama-server",
            "9600",
        ),
        (
            "docker run rocm/vllm:rocm6.4.1_vllm_0.20.2_20260909 vllm serve org/m",
            "vllm serve",
            "0.20.2",
        ),
        (
            "docker run nvcr.io/nvidia/tensorrt-llm/release:1.2.0rc4 trtllm-serve org/m",
            "trtllm-serve",
            "1.2.0rc4",
        ),
    ],
)
def test_docker_run_starts_what_the_image_or_its_arguments_say(
    command: str, launcher: str, version: str
) -> None:
    found = one(command)
    assert (found.launcher, str(found.version), found.version_source, found.model) == (
        launcher,
        version,
        "image tag",
        "org/m",
    )


def test_docker_run_gives_environment_gpus_memory_and_name() -> None:
    found = one(
        "docker run --name v -e A=1 --env B='x y' -e SECRET --gpus '\"device=0,3\"' -m 6g "
        "--shm-size 16g vllm/vllm-openai:v0.20.2 --model org/m"
    )
    assert {k: v.value for k, v in found.env.items()} == {"A": "1", "B": "x y", "SECRET": None}
    assert (found.gpu_count, found.host_memory_bytes, found.name) == (2, 6 * 2**30, "v")


@pytest.mark.parametrize(
    ("tag", "why"),
    [
        (":latest", "the tag latest names no version"),
        (":nightly", "the tag nightly names no version"),
        ("", "the image has no tag, which names no version"),
        ("@sha256:0123abcd", "the image has a digest, which names no version"),
        (":glm52", "the tag glm52 names no version"),
    ],
)
def test_a_tag_that_is_no_version_is_said_and_not_guessed(tag: str, why: str) -> None:
    found = one(f"docker run vllm/vllm-openai{tag} --model org/m")
    assert found.version is None
    assert [(p.code, p.message) for p in found.problems] == [("KV407", why)]


def test_a_products_own_version_is_not_taken_for_the_engines() -> None:
    found = one("docker run nvcr.io/nvidia/ai-dynamo/vllm-runtime:99.1 python3 -m dynamo.vllm")
    assert (found.engine, found.version, codes(found)) == ("vllm", None, ["KV407"])
    named = read_deployments("docker run ollama/ollama:0.16.2", "x", engine="llama.cpp==b9600")
    assert (named[0].launcher, str(named[0].version)) == ("ollama serve", "9600")


@pytest.mark.parametrize(
    ("image", "engine", "version"),
    [
        ("vllm-runtime:1.1.1", "vllm", "0.19.0"),
        ("vllm-runtime:1.0.0-cuda13", "vllm", "0.16.0"),
        ("sglang-runtime:0.8.1", "sglang", "0.5.6.post2"),
        ("tensorrtllm-runtime:0.9.0", "tensorrt-llm", "1.3.0rc1"),
    ],
)
def test_a_release_of_dynamo_tells_the_engine_that_its_package_pins(
    image: str, engine: str, version: str
) -> None:
    module = {"vllm": "vllm", "sglang": "sglang", "tensorrt-llm": "trtllm"}[engine]
    command = (
        f"docker run nvcr.io/nvidia/ai-dynamo/{image} python3 -m dynamo.{module} --model org/m"
    )
    found = one(command)
    assert (found.engine, str(found.version)) == (engine, version)


def test_a_command_given_to_an_image_that_has_one_is_said() -> None:
    found = one("docker run vllm/vllm-openai:v0.20.2 vllm serve org/m -tp 2")
    assert codes(found) == ["KV420"]
    assert found.flags["tensor_parallel_size"] == 2


# -- what stands in front


@pytest.mark.parametrize(
    "front",
    [
        "nohup",
        "exec",
        "sudo -E",
        "time",
        "numactl --cpunodebind=0 --membind=0",
        "srun --gres=gpu:8 -N1",
        "env -u X A=1",
        "A=1 B=2",
        "uv run --with vllm",
        "conda run -n x --no-capture-output",
        "nsys profile -o out",
        "timeout 10m",
        "kubectl exec -it pod -c vllm --",
        "singularity exec --nv image.sif",
        "docker exec -it box",
        "mpirun -n 2 --allow-run-as-root",
    ],
)
def test_wrappers_are_looked_through(front: str) -> None:
    found = one(f"{front} vllm serve org/m -tp 2 > log 2>&1 &")
    assert (found.model, found.flags["tensor_parallel_size"]) == ("org/m", 2)


@pytest.mark.parametrize(
    "command",
    [
        "bash -lc 'cd /x && vllm serve org/m'",
        'sh -c "exec vllm serve org/m"',
        "ssh host 'vllm serve org/m'",
        "tmux new -d 'vllm serve org/m'",
        'eval "vllm serve org/m"',
        "bash <<'EOF'\nvllm serve org/m\nEOF",
        "/opt/venv/bin/vllm serve org/m",
        "python -m vllm.entrypoints.openai.api_server --model org/m",
        "python3 /x/vllm/entrypoints/openai/api_server.py --model org/m",
    ],
)
def test_shells_and_paths_are_looked_into(command: str) -> None:
    assert one(command).model == "org/m"


def test_several_engines_of_one_script_come_in_order() -> None:
    found = read(
        "export A=1\nvllm serve org/a --port 1 &\nCUDA_VISIBLE_DEVICES=1,2 vllm serve org/b &\n"
        "python -m sglang.launch_server --model-path org/c\nwait"
    )
    assert [(d.engine, d.model, d.place.line) for d in found] == [
        ("vllm", "org/a", 2),
        ("vllm", "org/b", 3),
        ("sglang", "org/c", 4),
    ]
    assert found[1].gpu_count == 2
    assert set(found[0].env) == {"A"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "echo vllm serve",
        "pip install vllm",
        "vllm bench serve",
        "a: 1",
        "trtllm-serve disaggregated -c x",
    ],
)
def test_a_text_that_starts_no_engine_is_an_error(text: str) -> None:
    with pytest.raises(InputError, match="no engine"):
        read(text)


def test_a_configuration_written_by_the_script_itself_is_read() -> None:
    found = one(
        "cat > c.yaml <<EOF\nmodel: org/m\ntensor-parallel-size: 4\nmax_model_len: 8k\n"
        "enable-prefix-caching: false\ntrust-remote-code: true\n"
        "kv-transfer-config: {kv_role: kv_consumer}\nEOF\n"
        "vllm serve --config c.yaml --tensor-parallel-size 8"
    )
    assert found.model == "org/m"
    assert found.flags["tensor_parallel_size"] == 8
    assert found.flags["max_model_len"] == 8000
    assert found.flags["enable_prefix_caching"] is False
    assert found.flags["trust_remote_code"] is True
    assert found.role == "decode"
    length = found.last("max_model_len")
    assert length is not None
    assert (length.origin, length.place.line) == ("config file", 4)


def test_trtllms_options_file_is_kept_as_data() -> None:
    found = one(
        "cat > e.yml <<E\nkv_cache_config: {dtype: fp8, free_gpu_memory_fraction: 0.8}\nE\n"
        "trtllm-serve org/m --extra_llm_api_options e.yml"
    )
    assert found.config == {"kv_cache_config": {"dtype": "fp8", "free_gpu_memory_fraction": 0.8}}


def test_a_file_is_read_from_its_folder_only(tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "c.yaml").write_text("max-model-len: 5\n")
    (tmp_path / "secret.yaml").write_text("max-model-len: 6\n")
    folder = tmp_path / "inside"
    (near,) = read_deployments("vllm serve m --config /etc/c.yaml", "x", folder=folder)
    assert near.flags["max_model_len"] == 5
    (away,) = read_deployments("vllm serve m --config ../secret.yaml", "x", folder=folder)
    assert "max_model_len" not in away.flags
    assert away.hidden == ("--config ../secret.yaml",)
    assert codes(away) == ["KV413"]


# -- compose


COMPOSE = """
x-common: &common
  image: lmsysorg/sglang:${TAG:-v0.5.23}
  environment: {SGLANG_A: "1", TOKEN: "${HF}"}
services:
  prefill:
    <<: *common
    command: >
      python3 -m sglang.launch_server --model-path org/m
      --tp ${TP:-4} --page-size 64 --disaggregation-mode prefill
  decode:
    <<: *common
    entrypoint: ["python3", "-m", "sglang.launch_server"]
    command: |
      --model-path org/m
      --tp 4 --page-size 32
    mem_limit: 64g
    deploy:
      resources: {reservations: {devices: [{driver: nvidia, device_ids: ["0", "1"]}]}}
  cache: {image: redis}
"""


def test_compose_services_with_anchors_defaults_and_both_forms_of_command() -> None:
    prefill, decode = read(COMPOSE)
    assert (prefill.role, decode.role) == ("prefill", "decode")
    assert str(prefill.version) == "0.5.23"
    assert (prefill.flags["tp_size"], prefill.flags["page_size"]) == (4, 64)
    assert [p.code for p in prefill.problems] == ["KV415", "KV415"]
    assert (decode.flags["page_size"], decode.gpu_count) == (32, 2)
    assert decode.host_memory_bytes == 64 * 2**30
    assert decode.env_value("SGLANG_A") == "1"
    assert decode.env_value("TOKEN") is None


def test_variables_named_like_flags_are_said_not_to_be_read() -> None:
    found = one(
        "services:\n  a:\n    image: vllm/vllm-openai:v0.20.2\n    environment:\n"
        "    - TENSOR_PARALLEL_SIZE=2\n    - HF_TOKEN=x\n    command: --model org/m\n"
    )
    assert [(p.code, p.place.line, p.hint) for p in found.problems] == [
        ("KV419", 5, "write --tensor-parallel-size 2")
    ]


def test_an_escaped_dollar_in_compose_is_the_inner_shells_variable() -> None:
    found = one(
        'services:\n  a:\n    image: x\n    environment: {TP: "2"}\n'
        '    command: ["sh", "-c", "vllm serve org/m --tensor-parallel-size $$TP"]\n'
    )
    assert found.flags["tensor_parallel_size"] == 2


# -- Kubernetes


POD = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: decode-pool}
spec:
  template:
    metadata: {labels: {llm-d.ai/role: decode}}
    spec:
      nodeSelector: {nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3}
      initContainers:
      - {name: init, image: busybox, command: [vllm, serve, never]}
      containers:
      - name: sidecar
        image: router:1
        args: [--port=8000]
      - name: vllm
        image: vllm/vllm-openai:v0.20.2
        env:
        - {name: MODEL, value: org/m}
        - {name: TOKEN, valueFrom: {secretKeyRef: {name: x, key: y}}}
        args: [--model, $(MODEL), --max-model-len, 8192, "--block-size 64", --api-key=$(TOKEN)]
        resources: {limits: {nvidia.com/gpu: 4, memory: 6Gi}}
"""


@pytest.mark.parametrize(
    "kind", ["Deployment", "StatefulSet", "DaemonSet", "Job", "ReplicaSet", "Unheard"]
)
def test_a_workloads_containers_are_found_with_gpu_role_and_references(kind: str) -> None:
    found = one(POD.replace("kind: Deployment", f"kind: {kind}"))
    assert (found.name, found.model, found.role) == ("vllm", "org/m", "decode")
    assert found.gpu == "H100 SXM"
    assert (found.gpu_count, found.host_memory_bytes) == (4, 6 * 2**30)
    assert (found.flags["max_model_len"], found.flags["block_size"]) == (8192, 64)
    assert sorted(codes(found)) == ["KV406", "KV416"]
    two_in_one = next(p for p in found.problems if p.code == "KV416")
    assert two_in_one.place.line == 21
    assert two_in_one.hint.endswith("write --block-size=64")


def test_an_unknown_gpu_is_said() -> None:
    found = one(POD.replace("NVIDIA-H100-80GB-HBM3", "H9000"))
    assert (found.gpu, found.gpu_text) == ("", "H9000")
    assert "KV414" in codes(found)


def test_a_leader_worker_set_counts_its_hosts() -> None:
    found = one("""
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: x}
spec:
  leaderWorkerTemplate:
    size: 2
    leaderTemplate:
      spec:
        containers:
        - name: leader
          image: vllm/vllm-openai:v0.20.2
          command:
          - sh
          - -c
          - |
            bash ray.sh leader --ray_cluster_size=$(LWS_GROUP_SIZE)
            vllm serve org/m --tensor-parallel-size 8 --pipeline_parallel_size 2
          resources: {limits: {nvidia.com/gpu: "8"}}
    workerTemplate:
      spec:
        containers: [{name: worker, image: vllm/vllm-openai:v0.20.2, command: [sh, -c, ray.sh]}]
""")
    assert (found.nodes, found.gpu_count) == (2, 8)
    assert (found.flags["tensor_parallel_size"], found.flags["pipeline_parallel_size"]) == (8, 2)
    assert (found.place.line, found.place.column) == (18, 13)


def test_a_dynamo_graph_has_workers_with_roles() -> None:
    prefill, decode = read("""
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: g}
spec:
  envs: [{name: A, value: "1"}]
  services:
    Frontend: {componentType: frontend, replicas: 1}
    VllmPrefillWorker:
      resources: {limits: {gpu: "2"}}
      extraPodSpec:
        mainContainer:
          image: nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.1.1
          command: [python3, -m, dynamo.vllm]
          args: [--model, org/m, -tp, "2"]
    Worker:
      subComponentType: decode
      extraPodSpec:
        mainContainer:
          image: nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.1.1
          command: [/bin/sh, -c]
          args: ["python3 -m dynamo.vllm --model org/m -tp 4"]
""")
    assert [(d.role, d.name, d.flags["tensor_parallel_size"]) for d in (prefill, decode)] == [
        ("prefill", "VllmPrefillWorker", 2),
        ("decode", "Worker", 4),
    ]
    assert prefill.gpu_count == 2
    assert prefill.env_value("A") == "1"


def test_production_stack_values_carry_what_the_chart_adds() -> None:
    prefill, decode = read("""
servingEngineSpec:
  modelSpec:
  - name: a-prefill
    repository: vllm/vllm-openai
    tag: v0.20.2
    modelURL: org/m
    requestGPU: 2
    vllmConfig: {maxModelLen: 4096, extraArgs: [--block-size, "64"]}
    lmcacheConfig: {enabled: true, kvRole: kv_producer}
  - name: a-decode
    repository: vllm/vllm-openai
    tag: v0.20.2
    modelURL: org/m
    vllmConfig: {enablePrefixCaching: true, enableChunkedPrefill: false}
    env: [{name: X, value: "1"}]
""")
    assert (prefill.role, decode.role) == ("prefill", "decode")
    assert (prefill.flags["max_model_len"], prefill.flags["block_size"]) == (4096, 64)
    assert prefill.flags["enable_prefix_caching"] is False
    assert decode.flags["enable_prefix_caching"] is True
    assert decode.flags["enable_chunked_prefill"] is False
    assert prefill.gpu_count == 2
    assert decode.env_value("X") == "1"


def test_llm_d_values_give_decode_and_prefill() -> None:
    text = """
modelArtifacts: {name: org/m, uri: "hf://org/m"}
decode:
  parallelism: {tensor: 4}
  containers:
  - name: vllm
    image: ghcr.io/llm-d/llm-d-cuda:v0.3.0
    modelCommand: vllmServe
    args: [--block-size, "128", --kv-transfer-config, '{"kv_role":"kv_both"}']
    resources: {limits: {nvidia.com/gpu: "4"}}
prefill:
  replicas: 2
  containers:
  - {name: vllm, image: "vllm/vllm-openai:v0.20.2", args: [--block-size, "64"]}
"""
    decode, prefill = read(text)
    assert [(d.role, d.model, d.flags["block_size"]) for d in (decode, prefill)] == [
        ("decode", "org/m", 128),
        ("prefill", "org/m", 64),
    ]
    assert (decode.flags["tensor_parallel_size"], decode.gpu_count) == (4, 4)
    assert (decode.version, str(prefill.version)) == (None, "0.20.2")
    assert len(read(text.replace("replicas: 2", "replicas: 0"))) == 1


KSERVE = """
apiVersion: serving.kserve.io/v1alpha1
kind: ServingRuntime
metadata: {name: rt}
spec:
  containers:
  - name: kserve-container
    image: vllm/vllm-openai:v0.26.0
    command: [python, -m, vllm.entrypoints.openai.api_server]
    args: ["--port=8080", "--model=/mnt/models", "--served-model-name={{.Name}}"]
---
apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {name: granite}
spec:
  predictor:
    model:
      modelFormat: {name: vLLM}
      runtime: rt
      storageUri: hf://org/m
      args: [--max-model-len=8192]
      resources: {limits: {nvidia.com/gpu: 2}}
"""


def test_a_kserve_service_is_put_together_with_its_runtime() -> None:
    found = one(KSERVE)
    assert (found.name, found.model, found.gpu_count) == ("granite", "org/m", 2)
    assert str(found.version) == "0.26.0"
    assert (found.flags["port"], found.flags["max_model_len"]) == (8080, 8192)
    alone = one(KSERVE.split("---")[1])
    assert (alone.launcher, alone.model, alone.flags["max_model_len"]) == (
        "vllm serve",
        "org/m",
        8192,
    )


def test_a_kserve_llm_service_has_two_roles() -> None:
    decode, prefill = read("""
apiVersion: serving.kserve.io/v1alpha2
kind: LLMInferenceService
metadata: {name: x}
spec:
  model: {uri: "hf://org/m", name: alias/m}
  parallelism: {tensor: 2, expert: true}
  template:
    containers:
    - name: main
      image: vllm/vllm-openai:v0.20.2
      env:
      - name: VLLM_ADDITIONAL_ARGS
        value: "--max-model-len 4096 --kv_transfer_config '{\\"kv_role\\":\\"kv_consumer\\"}'"
      resources: {limits: {nvidia.com/gpu: "2"}}
  prefill:
    template: {containers: [{name: main, image: "vllm/vllm-openai:v0.20.2"}]}
""")
    assert (decode.role, decode.model, decode.flags["tensor_parallel_size"]) == (
        "decode",
        "org/m",
        2,
    )
    assert decode.flags["max_model_len"] == 4096
    assert decode.flags["enable_expert_parallel"] is True
    assert (prefill.role, prefill.model) == ("prefill", "org/m")


def test_fragments_of_a_pod_are_read_too() -> None:
    for text in (
        "containers:\n- {image: 'vllm/vllm-openai:v0.20.2', args: [--model, org/m]}\n",
        "- {image: 'vllm/vllm-openai:v0.20.2', args: [--model, org/m]}\n",
        "image: vllm/vllm-openai:v0.20.2\nargs: [--model, org/m]\n",
        '{"kind": "List", "items": [{"kind": "Pod", "spec": {"containers": [{"image": '
        '"vllm/vllm-openai:v0.20.2", "args": ["--model", "org/m"]}]}}]}',
    ):
        assert one(text).model == "org/m", text


def test_a_config_map_of_the_same_text_is_read() -> None:
    found = one(
        "kind: ConfigMap\ndata:\n  c.yaml: |\n    model: org/m\n    max-model-len: 4k\n---\n"
        "kind: Pod\nspec:\n  containers:\n  - image: vllm/vllm-openai:v0.20.2\n"
        "    args: [--config, /etc/v/c.yaml]\n"
    )
    assert (found.model, found.flags["max_model_len"]) == ("org/m", 4000)


# -- Dockerfiles and units


def test_a_dockerfile_starts_its_last_stage() -> None:
    found = one(
        "# comment\nARG TAG=v0.20.2\nFROM vllm/vllm-openai:${TAG} AS base\n"
        'ENV A=1 B="x y"\nFROM base\nENV C 3\nRUN pip install z\n'
        'CMD ["--model", "org/m", \\\n     "--max-model-len", "4096"]\n'
    )
    assert (str(found.version), found.model, found.flags["max_model_len"]) == (
        "0.20.2",
        "org/m",
        4096,
    )
    assert {k: v.value for k, v in found.env.items()} == {"A": "1", "B": "x y", "C": "3"}


def test_a_dockerfiles_shell_form_expands_its_environment() -> None:
    found = one("FROM x\nENV TP=4\nENTRYPOINT exec vllm serve org/m -tp ${TP} --port $P\n")
    assert found.flags["tensor_parallel_size"] == 4
    assert found.is_unresolved("port")


def test_a_systemd_unit_is_read() -> None:
    found = one(
        '[Unit]\nDescription=x\n[Service]\nEnvironment="A=1" B=2\n'
        "ExecStart=/opt/venv/bin/vllm serve org/m \\\n  -tp 2\n"
    )
    assert (found.model, found.flags["tensor_parallel_size"]) == ("org/m", 2)
    assert {k: v.value for k, v in found.env.items()} == {"A": "1", "B": "2"}


def test_a_skypilot_task_is_read() -> None:
    found = one(
        "name: t\nresources:\n  accelerators: H100:8\nenvs: {M: org/m}\nnum_nodes: 2\n"
        "run: |\n  vllm serve $M \\\n    -tp 8\n"
    )
    assert (found.model, found.gpu, found.gpu_count, found.nodes) == ("org/m", "H100 SXM", 8, 2)
    assert found.flags["tensor_parallel_size"] == 8


def test_what_the_user_names_goes_before_what_the_text_says() -> None:
    (found,) = read_deployments(POD, "x", engine="vllm==0.15.1", gpu="rtx4090")
    assert (found.spec, found.version_source, found.gpu) == (
        "vllm==0.15.1",
        "engine option",
        "RTX 4090",
    )
    with pytest.raises(InputError, match="unknown GPU"):
        read_deployments(POD, "x", gpu="H9000")


# -- forms and bounds


@pytest.mark.parametrize(
    ("text", "path", "form"),
    [
        ("vllm serve m", "", "command"),
        ("# c\n---\nvllm serve m", "", "command"),
        ("A=1 vllm serve m", "", "command"),
        ("# c\nservices:\n  a: {}", "", "yaml"),
        ("---\nkind: Pod", "", "yaml"),
        ("- name: a\n  image: b", "", "yaml"),
        ('{"kind": "Pod"}', "", "yaml"),
        ("FROM x\nCMD y", "", "dockerfile"),
        ("ARG A=1\nFROM x", "", "dockerfile"),
        ("[Service]\nExecStart=x", "", "unit"),
        ("anything", "values.yaml", "yaml"),
        ("anything", "run.sh", "command"),
        ("anything", "Dockerfile.gpu", "dockerfile"),
    ],
)
def test_the_form_is_told_by_the_name_or_the_first_line(text: str, path: str, form: str) -> None:
    assert form_of(text, path) == form


def test_plain_values_make_deployments_without_yaml() -> None:
    document = node_of({"image": "vllm/vllm-openai:v0.20.2", "args": ["--model", "org/m"]})
    (found,) = deployments("", documents=[document])
    assert found.model == "org/m"


def test_nodes_keep_text_places_and_types() -> None:
    (node,) = documents("a: 0.90\nb: [on, 'on', !!str 1, 0x1]\nc: |\n  x\n  y\n", "f.yaml")
    assert (node.words("a"), node.get("a").value) == ("0.90", 0.9)  # type: ignore[union-attr]
    listed = list(node.get("b").elements())  # type: ignore[union-attr]
    assert [(n.value, n.text) for n in listed] == [
        (True, "on"),
        ("on", "on"),
        ("1", "1"),
        ("0x1", "0x1"),
    ]
    block = node.get("c")
    assert block is not None
    assert (block.block, block.place.line, block.place.column) == (True, 3, 3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\na: 2\n", "given twice"),
        ("a: &x [*x]\n", "inside of itself"),
        ("a: *x\n", "no &x"),
        ("a: [1\n", "no YAML"),
        ("a: \x01\n", "no YAML"),
        ("[" * 100, "nested too deeply"),
        ("a: {{ .Values.x }}\n{{- if .y }}\nb: 1\n{{- end }}\n", "as a key"),
        ("a: " + "x" * (2**20 + 1), "more YAML"),
    ],
)
def test_text_that_is_no_good_yaml_is_an_error(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        documents(text, "f.yaml")


def test_a_chart_that_was_not_rendered_says_what_to_do() -> None:
    with pytest.raises(InputError) as error:
        documents("a: {{ .Values.x }}\nb: 1\n", "templates/x.yaml")
    assert "helm template" in error.value.hint


def test_a_yaml_bomb_is_counted_not_expanded() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 12)]
    with pytest.raises(InputError, match="aliases are expanded"):
        documents("\n".join(lines), "bomb.yaml")


def test_definitions_of_a_cluster_are_skipped_unread() -> None:
    text = "kind: CustomResourceDefinition\nbroken: [\n---\nkind: Pod\n"
    (node,) = documents(text, "f.yaml")
    assert (node.words("kind"), node.place.line) == ("Pod", 4)


# -- ends of lines

# What str.splitlines breaks at beside a line feed, and Docker, systemd and a shell don't.
_NO_ENDS = ("\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029")


@pytest.mark.parametrize("mark", _NO_ENDS, ids=[f"{ord(m):04x}" for m in _NO_ENDS])
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["unix", "windows"])
@pytest.mark.parametrize(
    ("path", "above", "start"),
    [
        ("Dockerfile", ["FROM vllm/vllm-openai:v0.20.2"], "ENTRYPOINT"),
        ("llm.service", ["[Service]"], "ExecStart="),
        ("start.sh", ["set -e"], ""),
    ],
)
def test_only_a_line_feed_ends_a_line(
    path: str, above: list[str], start: str, end: str, mark: str
) -> None:
    note = f"# what follows is{mark}{start} vllm serve org/other --max-model-len 1"
    command = f'{start} vllm serve org/m --served-model-name "a{mark}b" \\'
    text = end.join([*above, note, command, "  --max-model-len 4096", ""])
    found = one(text, path)
    assert found.model == "org/m"
    assert found.place.line == len(above) + 2
    assert [g.text for g in found.given if g.dest == "served_model_name"] == [f"a{mark}b"]
    assert [g.text for g in found.given if g.dest == "max_model_len"] == ["4096"]
