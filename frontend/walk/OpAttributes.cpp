//===- OpAttributes.cpp - the attributes of a node ------------------------===//

#include "frontend/walk/Op.h"

#include "frontend/walk/Importer.h"

using onnx::AttributeProto;

namespace zerograph::frontend {

bool Op::hasAttribute(const char *name) const {
  for (const auto &attribute : node.attribute()) {
    if (attribute.name() == name) {
      return true;
    }
  }
  return false;
}

const AttributeProto *Op::attribute(const char *name,
                                    AttributeProto::AttributeType type) const {
  for (const auto &attribute : node.attribute()) {
    if (attribute.name() == name) {
      if (attribute.type() != type) {
        fail("attribute '", name, "' has the wrong type");
      }
      return &attribute;
    }
  }
  return nullptr;
}

int64_t Op::intAttribute(const char *name, int64_t otherwise) const {
  const auto *found = attribute(name, AttributeProto::INT);
  return found != nullptr ? found->i() : otherwise;
}

int32_t Op::typeAttribute(const char *name, int32_t otherwise) const {
  return importer.computedType(
      static_cast<int32_t>(intAttribute(name, otherwise)));
}

float Op::floatAttribute(const char *name, float otherwise) const {
  const auto *found = attribute(name, AttributeProto::FLOAT);
  return found != nullptr ? found->f() : otherwise;
}

std::string Op::stringAttribute(const char *name,
                                const std::string &otherwise) const {
  const auto *found = attribute(name, AttributeProto::STRING);
  return found != nullptr ? found->s() : otherwise;
}

std::vector<int64_t> Op::intsAttribute(const char *name) const {
  const auto *found = attribute(name, AttributeProto::INTS);
  return found != nullptr
             ? std::vector<int64_t>(found->ints().begin(), found->ints().end())
             : std::vector<int64_t>();
}

std::vector<float> Op::floatsAttribute(const char *name) const {
  const auto *found = attribute(name, AttributeProto::FLOATS);
  return found != nullptr ? std::vector<float>(found->floats().begin(),
                                               found->floats().end())
                          : std::vector<float>();
}

std::vector<std::string> Op::stringsAttribute(const char *name) const {
  const auto *found = attribute(name, AttributeProto::STRINGS);
  return found != nullptr ? std::vector<std::string>(found->strings().begin(),
                                                     found->strings().end())
                          : std::vector<std::string>();
}

std::optional<HostTensor> Op::tensorAttribute(const char *name) const {
  const auto *found = attribute(name, AttributeProto::TENSOR);
  return found != nullptr
             ? std::optional(importer.read(found->t(), /*inNode=*/true))
             : std::nullopt;
}

} // namespace zerograph::frontend
