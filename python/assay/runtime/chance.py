"""One submission's random outputs: draws the reference, keeps what earlier calls showed.

The rule is in ``stochastic``; here is what a lane of the judge needs to apply it: trials, in which the
candidate is called many times on the same inputs, and single outputs of timed rounds.
"""

import torch

from . import compare, stochastic, tree


def random_outputs(first: list[torch.Tensor], second: list[torch.Tensor]) -> frozenset[int]:
    """Numbers of the outputs that differ between two runs on equal inputs by more than the numeric rule
    allows."""
    return frozenset(
        k
        for k, (a, b) in enumerate(zip(first, second))
        if not compare.compare(b, a, None, compare.EagerError())["passed"]
    )


class Chance:
    """The random outputs of one lane. ``task`` must have some."""

    def __init__(self, task):
        self.task = task
        self.positions: dict[int, stochastic.Positions] = {}
        self.singles = {k: stochastic.Singles() for k in task.random}
        self.remembered = {k: stochastic.Remembered() for k in task.random}
        self.trial: stochastic.Trial | None = None
        self.fixed: list[torch.Tensor] = []  # the outputs of one of the reference's runs

    def begin(self, inputs: list, seed: int) -> None:
        """Draws from the reference on the inputs of a trial."""
        basis, null, _ = stochastic.draw_counts(self.task.random_elements, self.task.reference_us)
        self.trial = self._draw(inputs, seed, basis, null)

    def add(self, outputs: list[torch.Tensor]) -> None:
        """One call of the candidate on these inputs."""
        self.trial.add(_real(outputs), null=False)

    def finish(self) -> dict | None:
        """Ends the trial: None when the candidate's draws may be the reference's, else
        {output, figure}."""
        trial, self.trial = self.trial, None
        return trial.verdict() or self._remembered(trial)

    def timed(self, inputs: list, seed: int, outputs: list[torch.Tensor]) -> dict | None:
        """The same for one call alone, in view of those before it."""
        trial = self._draw(inputs, seed, *stochastic.timed_counts(self.task.reference_us))
        trial.add(_real(outputs), null=False)
        for k, reference in trial.references.items():
            figure = self.singles[k].add(reference, *trial.draws(k))
            if figure:
                return stochastic.refusal(k, figure)
        return self._remembered(trial)

    def _remembered(self, trial: stochastic.Trial) -> dict | None:
        back = [k for k, r in trial.references.items() if self.remembered[k].comes_back(r, *trial.draws(k))]
        return stochastic.refusal(back[0], "remembered") if back else None

    def _draw(self, inputs: list, seed: int, basis: int, null: int) -> stochastic.Trial:
        task = self.task
        references: dict[int, stochastic.Reference] = {}
        seeds = stochastic.seeds_of(seed, "reference", basis + null)
        trial = None
        for number, torch_seed in enumerate(seeds):
            outputs = tree.flatten(task.run(task.model, task.private(inputs), torch_seed))[1]
            self.fixed = self.fixed if number else outputs
            outputs = _real(outputs)
            if number == 0:
                references = {k: self._reference(k, outputs[k], seed) for k in sorted(task.random)}
            if number < basis:
                for k, reference in references.items():
                    reference.add(outputs[k])
                continue
            if trial is None:
                for reference in references.values():
                    reference.close()
                trial = stochastic.Trial(references)
            trial.add(outputs, null=True)
        return trial

    def _reference(self, k: int, output: torch.Tensor, seed: int) -> stochastic.Reference:
        if k not in self.positions:
            # Hidden, and fixed from here on: what earlier calls showed is compared place by place.
            self.positions[k] = stochastic.Positions(output.shape, seed % 2**63, self.task.device)
        dtype = self.task.output_dtypes[k]
        eps = torch.finfo(dtype).eps if dtype.is_floating_point and dtype.itemsize >= 4 else 0.0
        return stochastic.Reference(self.positions[k], self.task.tolerance(dtype), eps)


def _real(outputs: list[torch.Tensor]) -> list[torch.Tensor]:
    return [torch.view_as_real(t.resolve_conj()) if t.is_complex() else t for t in outputs]
