"""What is fitted to measured jobs: each model to all of them but the one that it predicts."""
import decimal

from npgpu.study.statistics import median

DIGITS = decimal.Context(prec=40)  # products of features lose half of the digits
NEGLIGIBLE = decimal.Decimal("1e-15")  # of the largest pivot: of features 3e-8


def reduced(columns, right):
    """Solves a square system by elimination with the largest pivot; the pivots that are not negligible say which rows and
    columns are independent: (those, the solution of these alone)."""
    size = len(right)
    rows = [list(row) + [right[i]] for i, row in enumerate(columns)]
    done = []
    with decimal.localcontext(DIGITS):
        largest = None
        while len(done) < size:
            at = max((i for i in range(size) if i not in done), key=lambda i: abs(rows[i][i]))
            pivot = rows[at][at]
            largest = abs(pivot) if largest is None else largest
            if not pivot or abs(pivot) <= NEGLIGIBLE * largest:
                break
            done.append(at)
            rows[at] = [value / pivot for value in rows[at]]
            for i in range(size):
                if i != at:
                    by = rows[i][at]
                    rows[i] = [value - by * own for value, own in zip(rows[i], rows[at])]
        return done, [rows[i][size] for i in done]


def shortest_solution(a, b):
    """The x for which a x is b, of a symmetric matrix of products; the shortest, where its columns depend on each other."""
    size = len(b)
    with decimal.localcontext(DIGITS):
        chosen, x = reduced(a, b)
        if len(chosen) == size:
            return [x[chosen.index(i)] for i in range(size)]
        # The shortest is a sum of the independent columns: x = c y, with a c y = b.
        c = [[a[i][j] for j in chosen] for i in range(size)]
        product = [[sum(a[i][k] * c[k][j] for k in range(size)) for j in range(len(chosen))] for i in chosen]
        order, found = reduced(product, [b[i] for i in chosen])
        y = [found[order.index(j)] if j in order else decimal.Decimal(0) for j in range(len(chosen))]
        return [sum(c[i][j] * y[j] for j in range(len(chosen))) for i in range(size)]


class RelativeFit:
    """Least squares of relative residuals, the sum over rows of ((offset + features * parameters) / measured - 1)^2, by
    normal equations: a group of rows is left out by taking its own sums off."""

    def __init__(self):
        self.groups, self.all = {}, None

    def add(self, group, features, offset, measured):
        with decimal.localcontext(DIGITS):
            measured = decimal.Decimal(measured)
            row = [decimal.Decimal(f) / measured for f in features]
            right = 1 - decimal.Decimal(offset) / measured
            sums = (1, [[a * b for b in row] for a in row], [a * right for a in row])
            self.all = self.plus(self.all, sums)
            self.groups[group] = self.plus(self.groups.get(group), sums)

    @staticmethod
    def plus(one, other, sign=1):
        if one is None:
            return other
        return (one[0] + sign * other[0], [[a + sign * b for a, b in zip(*rows)] for rows in zip(one[1], other[1])],
                [a + sign * b for a, b in zip(one[2], other[2])])

    def solve(self, without=None):
        """The parameters; none where no row is left."""
        if self.all is None:
            return []
        with decimal.localcontext(DIGITS):
            rows, a, b = self.plus(self.all, self.groups[without], -1) if without in self.groups else self.all
            if not rows:
                return []
            # Columns of bytes and of ones differ by many powers of ten.
            scale = [a[i][i].sqrt() if a[i][i] > 0 else decimal.Decimal(1) for i in range(len(b))]
            scaled = [[value / (scale[i] * scale[j]) for j, value in enumerate(row)] for i, row in enumerate(a)]
            x = shortest_solution(scaled, [value / scale[i] for i, value in enumerate(b)])
            return [float(one / by) for one, by in zip(x, scale)]


class BestConstant:
    """The number of streams with the least median regret over all jobs but one."""

    def __init__(self):
        self.jobs = {}

    def learn(self, key, job):
        least = min(job.times)
        self.jobs[key] = {n: us / least - 1 for n, us in zip(job.streams, job.times)}

    def without(self, key=None):
        others = [regrets for of, regrets in self.jobs.items() if of != key]
        chosen, least = 1, None
        for n in sorted({n for regrets in others for n in regrets}):
            found = [regrets[n] for regrets in others if n in regrets]
            if 2 * len(found) < len(others):
                continue  # measured for too few
            middle = median(found)
            if least is None or middle < least:
                chosen, least = n, middle
        return chosen
