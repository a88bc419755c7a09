"""Arguments with types: a pydantic model, checked at enqueue and before the run. python examples/typed_args.py"""

from collections.abc import Mapping
from decimal import Decimal

from pydantic import BaseModel, Field

from wagoe_jobs import InvalidJob, handler, running
from wagoe_jobs.containers import JobsContainer


class Payment(BaseModel):
    account: str = Field(min_length=1)
    amount: Decimal = Field(gt=0)


@handler("pay", args=Payment)
def pay(args: Mapping[str, object]) -> str:
    payment = Payment.model_validate(args)  # the handler gets the mapping: make the model where it helps
    return f"{payment.amount:.2f} to {payment.account}"


job_handlers = [pay]

if __name__ == "__main__":
    with running(JobsContainer(settings={"modules": [__name__], "jobs": {"provider": "memory"}})) as system:
        jobs = system.client()
        job = jobs.wait(jobs.enqueue(pay, {"account": "NL01", "amount": Decimal("9.90")}), timeout=5)
        print(job and job.result)
        try:
            jobs.enqueue(pay, {"account": "NL01", "amount": Decimal("-1")})
        except InvalidJob as error:
            print(error)  # nothing was stored
