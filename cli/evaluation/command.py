"""Define `siq eval`: run systems, score them and write a report, in one command."""

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from speechiq.cli.commands import examples, stop_in_one_line
from speechiq.cli.evaluation.checks import (
    check_cached,
    check_form,
    check_plan,
    check_systems,
    describe_work,
    read_shard,
    read_stages,
    refuse_norms,
)
from speechiq.cli.evaluation.record import (
    check_replaceable,
    check_shards,
    describe_shards,
    read_evaluation,
    record_shards,
)
from speechiq.cli.evaluation.runs import PAGE, SCORES, publish_scores, run_plan
from speechiq.cli.options import (
    EXPERT,
    AllowCode,
    AllowMismatch,
    Explain,
    Metadata,
    complete_system,
    complete_tasks,
    output_option,
    split_names,
    tidy_system,
)
from speechiq.cli.scoring import NormsFile, choose_scale
from speechiq.core.cache.stage_cache import Stopped
from speechiq.core.console import say, show
from speechiq.core.errors import SpeechIQError
from speechiq.engines.registry import AS_RECOGNIZER, replace_engine
from speechiq.harness_patch import processes
from speechiq.harness_patch.plan import LARGEST_SEED, Plan, lm_eval_command, split_tasks
from speechiq.harness_patch.systems.spec import list_people
from speechiq.siq_tasks.conditions.preset import PRESET

#: Options of the last stage of a system alone.
OF_LAST = ("answer", "speaks")
#: Most characters of a folder's name.
LONGEST_NAME = 100
#: What the line of a shard says that SIGTERM ended.
STOPPED = "was stopped after a batch; continue: "
GOES_ON = "the same command goes on with what is in {} and in the response cache"


@examples(
    "siq eval demo gold+demo:SmolLM2-135M-Instruct,llm_answer=likelihood letter:B --tasks siq_demo -o runs/first",
    "siq eval demo --norms demo",
    "siq eval demo --tasks siq_demo --norms demo -o runs/one",
    "siq eval openai/whisper-large-v3+Qwen/Qwen2-7B-Instruct,asr_dtype=bfloat16 --tasks siq_all -o runs/all --dry-run",
    "siq eval demo --tasks siq_demo -o runs/one --shard 2/4",
    "siq eval --architecture Qwen/Qwen2-Audio-7B-Instruct Qwen/Qwen2-7B-Instruct openai/whisper-large-v2 -o runs/four",
)
def evaluate(
    systems: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SYSTEM",
            help="Systems as in pretrained=, each with its options after commas: SPEC,OPTION=VALUE. "
            "`siq list systems` lists engines, options and models.",
            autocompletion=complete_system,
            show_default=False,
        ),
    ] = None,
    architecture: Annotated[
        tuple[str, str, str] | None,
        typer.Option(
            metavar="MODEL LLM ASR",
            help="Also run the four systems that siq study architecture compares: the audio model MODEL alone, and LLM "
            "after MODEL, the recognizer ASR and gold; each with its options after commas, without a prefix.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        output_option("Folder for runs, scores, report and logs; without it runs/ and the names of the tasks."),
    ] = None,
    tasks: Annotated[
        list[str],
        typer.Option(
            "--tasks",
            metavar="NAMES",
            help="Tasks or groups, with commas between them; `siq list tasks` lists them.",
            autocompletion=complete_tasks,
        ),
    ] = ["siq_demo"],  # noqa: B006 (typer shows it as the default)
    limit: Annotated[
        int | None, typer.Option(min=1, help="Run only the first clips of each data set, for a trial.")
    ] = None,
    device: Annotated[
        str | None, typer.Option(help="Device of the models: cpu, cuda, cuda:1, mps; by default the accelerator.")
    ] = None,
    batch_size: Annotated[str, typer.Option(help="Items per batch: a whole number, or auto.")] = "auto",
    metadata: Metadata = None,
    gen_kwargs: Annotated[
        list[str] | None,
        typer.Option(
            "--gen_kwargs",
            metavar="KEY=VALUE",
            help="Generation setting, KEY=VALUE as for lm_eval, such as max_gen_toks=4096 for a model that reasons; "
            "give it once per key.",
        ),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            help="Run with the prompts and settings behind numbers that others print: voicebench or lmms-eval."
        ),
    ] = None,
    include_path: Annotated[
        Path | None, typer.Option(help="Folder with further tasks, such as one of `siq data new`.")
    ] = None,
    allow_code: AllowCode = False,
    norms_file: NormsFile = None,
    allow_mismatch: AllowMismatch = False,
    seed: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=LARGEST_SEED,
            help="Set the seed of all random numbers of this command; by default the seeds of lm-eval.",
            rich_help_panel=EXPERT,
        ),
    ] = None,
    shard: Annotated[
        str | None,
        typer.Option(
            metavar="I/N",
            help="Fill the response cache for the clips of shard I of N, on any machine at any time, and write no "
            "results; then the same command without it collects them.",
            rich_help_panel=EXPERT,
        ),
    ] = None,
    stages: Annotated[
        str | None,
        typer.Option(
            help="Compute only these stages of a shard, such as asr or llm,judge: asr, llm, judge, embed.",
            rich_help_panel=EXPERT,
        ),
    ] = None,
    require_cached: Annotated[
        bool,
        typer.Option(
            "--require-cached",
            help="Refuse to compute: all rows must be in the response cache.",
            rich_help_panel=EXPERT,
        ),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Check everything, print the work, its cached part and the commands, and stop."),
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Run finished systems again, and replace files that exist.")
    ] = False,
    explain: Explain = False,
) -> None:
    """Run systems, print their ranking and write a report.

    Each SYSTEM runs on the tasks; runs, scores and report are in the output folder. A system that is finished in the
    folder is not run again, and a stopped command goes on where it was.
    """
    quartet = list_quartet(*map(tidy_system, architecture)) if architecture else []
    given = list_people([tidy_system(system) for system in systems or ()])
    given += [system for system in quartet if system not in given]
    if not given:
        raise SpeechIQError("SYSTEM", "none is named", "name systems, or give --architecture MODEL LLM ASR")
    names_of_tasks = tuple(split_tasks(tasks))
    output = output or default_output(names_of_tasks)
    plan = Plan(
        systems=tuple(given),
        tasks=names_of_tasks,
        output=str(output),
        batch_size=batch_size,
        device=device,
        limit=limit,
        seed=seed,
        metadata=(*(metadata or ()), *([] if preset is None else [f"{PRESET}={preset}"])),
        include_path=None if include_path is None else str(include_path),
        gen_kwargs=tuple(gen_kwargs or ()),
        allow_code=allow_code,
        shard=read_shard(shard, stages),
        stages=read_stages(stages),
        require_cached=require_cached,
    )
    is_shard = plan.shard is not None
    if is_shard and require_cached:
        raise SpeechIQError("--require-cached", "a shard computes", "leave one of the two out")
    check_form(given)
    check_plan(plan, norms_file, allow_mismatch)
    _, norms = choose_scale(norms_file, None, None)
    record, options = read_evaluation(output), describe_shards(plan)
    if is_shard and not force:
        check_shards(options, output)
    if not is_shard:
        for path in (output / SCORES, output / PAGE):
            check_replaceable(record, path, force)
    with stop_in_one_line(GOES_ON.format(output)), _end_after_batch(plan):
        names, work = check_systems(plan, record, force or dry_run or is_shard)
        if work is not None:
            plan = plan.change(samples=work.samples)
            refuse_norms(work, norms_file, norms, allow_mismatch)
            if dry_run:
                runs = () if is_shard else given
                return show(*describe_work(work), *(shlex.join(lm_eval_command(system, plan)) for system in runs))
            if is_shard:
                record_shards(options, output, force=force)
            else:
                check_cached(work, plan)
        run_plan(names, plan, record, work.systems if work is not None else [], force)
        if not is_shard:
            publish_scores(plan, record, norms_file, allow_mismatch, explain)
            if architecture:
                audio_model, llm, recognizer = (_read_stage(text)[0] for text in architecture)
                base = ["--base", f"{audio_model}={llm}", "--recognizer", recognizer]
                say(f"next: {shlex.join(['siq', 'study', 'architecture', plan.output, *base])}")


def list_quartet(audio_model: str, llm: str, recognizer: str) -> list[str]:
    """Return the systems that show whether a cascade or an end-to-end model is better, of stages with their options.

    >>> for system in list_quartet("org/audio,dtype=bfloat16", "org/text", "org/asr,num_beams=5"):
    ...     print(system)
    org/audio,dtype=bfloat16
    org/audio+org/text,asr_dtype=bfloat16
    org/asr+org/text,asr_num_beams=5
    gold+org/text
    """
    ears, *options = _read_stage(audio_model)
    reader, *reading = _read_stage(llm)
    hearing = [option for option in options if not option.startswith(OF_LAST)]
    systems = [audio_model]
    for stage, *own in ([replace_engine(ears, AS_RECOGNIZER), *hearing], _read_stage(recognizer), ["gold"]):
        words = [f"{stage}+{reader}", *(f"asr_{option}" for option in own), *(f"llm_{option}" for option in reading)]
        systems.append(",".join(words))
    return systems


def _read_stage(text: str) -> list[str]:
    """Return a stage and its options; refuse a whole cascade."""
    stage, *options = split_names(text)
    if "+" in stage or not stage:
        fault = "not one stage" if stage else "begins with no stage"
        raise SpeechIQError(f"--architecture {text!r}", fault, "give MODEL LLM ASR, each [ENGINE:]MODEL")
    return [stage, *options]


def default_output(tasks: Sequence[str]) -> Path:
    """Return the folder of an evaluation for which none is named.

    >>> default_output(["siq_demo", "siq_demo_distance"]).as_posix()
    'runs/siq_demo+siq_demo_distance'
    """
    return Path("runs") / "+".join(tasks)[:LONGEST_NAME]


@contextmanager
def _end_after_batch(plan: Plan) -> Iterator[None]:
    """End a shard after the batch in progress when SIGTERM arrives, with exit code 0, since any machine may go on."""
    if plan.shard is None:
        yield
        return
    try:
        with processes.passing_on_sigterm():
            yield
    except Stopped:
        number, count = plan.shard
        say(f"shard {number}/{count} {STOPPED}{GOES_ON.format(plan.output)}")
