"""Media: what is below IP on a link, one medium a file."""

from narrows.spec.media.base import Medium
from narrows.spec.media.docsis import docsis
from narrows.spec.media.lte import lte, nr
from narrows.spec.media.opportunities import opportunities
from narrows.spec.media.satellite import satellite
from narrows.spec.media.wifi import wifi

__all__ = ["Medium", "docsis", "lte", "nr", "opportunities", "satellite", "wifi"]
